# The stores behind a server: against servers of our own, and against others' where there are any
# (ASSAY_MOTO_SERVER, ASSAY_S3_SERVER, ASSAY_HUB_PYTHON).
find_package(CURL 7.88 QUIET)
if(CURL_FOUND)
  add_house_test(publish_http_test LABEL unit SOURCES http_client_test.cpp LIBRARIES publish store_servers)
  foreach(kind s3 hub)
    add_house_test(${kind}_test LABEL e2e SOURCES ${kind}_test.cpp LIBRARIES publish store_servers)
  endforeach()
  add_house_test(hub_peer_test LABEL e2e SOURCES hub_peer_test.cpp LIBRARIES publish e2e_support store_servers)
  add_house_test(s3_servers_test LABEL e2e SOURCES s3_servers_test.cpp LIBRARIES publish e2e_support)

  if(TARGET assay-publish)
    add_house_program(no_sockets SOURCES no_sockets.cpp)
    set_target_properties(no_sockets PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    add_house_test(publish_process_test LABEL e2e SOURCES publish_process_test.cpp
                   LIBRARIES base e2e_support store_servers)
    target_compile_definitions(publish_process_test PRIVATE ASSAY_TESTS_DIR="${CMAKE_BINARY_DIR}/tests")
    add_dependencies(publish_process_test assay-publish no_sockets)
  endif()
endif()

if(TARGET publish_commands AND CURL_FOUND)
  add_house_test(viewer_publish_test LABEL e2e SOURCES viewer_publish_test.cpp
                 LIBRARIES publish e2e_support store_servers)
  if(ASSAY_TESTS)
    add_dependencies(viewer_publish_test assay-publish)
    if(TARGET assay-view)
      add_dependencies(viewer_publish_test assay-view)
      target_compile_definitions(viewer_publish_test PRIVATE ASSAY_HAVE_VIEW)
    endif()
  endif()
endif()
