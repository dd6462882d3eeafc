# The stores behind a server, against servers of our own and, where there are any, of others.
if(NOT CURL_FOUND)
  find_package(CURL QUIET)
endif()
if(CURL_FOUND)
  add_house_test(s3_test LABEL e2e SOURCES s3_test.cpp LIBRARIES publish store_servers)
endif()
