# The record: assay-publish as a process, shards through readers that are not ours, memory while converting.
if(TARGET assay-publish AND ASSAY_TESTS)
  foreach(part record memory)
    add_house_test(publish_${part}_test LABEL e2e SOURCES publish_${part}_test.cpp LIBRARIES base e2e_support)
    add_dependencies(publish_${part}_test assay-publish)
  endforeach()
  add_house_test(publish_readers_test LABEL e2e SOURCES publish_readers_test.cpp
                 LIBRARIES base publish publish_shards e2e_support)
endif()
