# The stores behind a server (s3://, hf://): part of the library `publish` where libcurl is there. 7.88 is the first
# that signs every header we send.
find_package(CURL 7.88 QUIET)
if(CURL_FOUND)
  target_sources(publish PRIVATE
    encoding.cpp http_client.cpp http_retry.cpp hub_api.cpp hub_folder.cpp hub_place.cpp hub_store.cpp
    remote_store.cpp s3_place.cpp s3_store.cpp s3_xml.cpp)
  target_sources(publish PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES
    encoding.h http_client.h hub_api.h hub_folder.h remote_store.h s3_place.h s3_xml.h)
  target_compile_definitions(publish PRIVATE ASSAY_HAVE_CURL)
  target_link_libraries(publish PRIVATE CURL::libcurl OpenSSL::Crypto)
else()
  message(STATUS "libcurl 7.88 not found: s3:// and hf:// stores are left out (tools/setup.sh build brings it)")
endif()
