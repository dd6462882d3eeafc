# Campaigns over the probe: the manifest, the cells, their server, the weights' proof, verdicts.
add_house_library(load_campaign
  SOURCES campaign_admission.cpp campaign_cell.cpp campaign_cells.cpp campaign_files.cpp
          campaign_manifest.cpp campaign_run.cpp campaign_secrets.cpp campaign_server.cpp campaign_sides.cpp verdict.cpp
          verdict_files.cpp weight_proof.cpp weight_proof_world.cpp
  HEADERS campaign_admission.h campaign_cell.h campaign_cells.h campaign_files.h campaign_manifest.h
          campaign_run.h campaign_secrets.h campaign_server.h campaign_sides.h verdict.h verdict_files.h weight_proof.h
  LIBRARIES base machine load)

add_house_test(campaign_plan_test LABEL unit
  SOURCES campaign_plan_test.cpp verdict_files_test.cpp verdict_test.cpp
  LIBRARIES load_campaign)
add_house_test(campaign_run_test LABEL unit
  SOURCES campaign_run_test.cpp campaign_secrets_test.cpp weight_proof_test.cpp
  LIBRARIES load_campaign)
if(TARGET campaign_run_test)
  add_dependencies(campaign_run_test fake_chat_server)
endif()
