# Campaigns over the probe: the manifest, the cells, their server, the weights' proof, verdicts.
add_house_library(load_campaign
  SOURCES campaign_admission.cpp campaign_cells.cpp campaign_manifest.cpp campaign_server.cpp
          weight_proof.cpp weight_proof_world.cpp
  HEADERS campaign_admission.h campaign_cells.h campaign_manifest.h campaign_server.h weight_proof.h
  LIBRARIES base machine load)
