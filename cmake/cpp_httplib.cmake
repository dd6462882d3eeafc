# cpp-httplib as the target `cpp_httplib`, or no such target when it is missing. Debian's header declares only; its
# library was built with these three options, and the layout of its classes depends on them.
if(TARGET cpp_httplib)
  return()
endif()
find_path(HTTPLIB_INCLUDE_DIR httplib.h)
find_library(HTTPLIB_LIBRARY cpp-httplib)
if(HTTPLIB_INCLUDE_DIR AND HTTPLIB_LIBRARY)
  add_library(cpp_httplib INTERFACE)
  target_include_directories(cpp_httplib SYSTEM INTERFACE "${HTTPLIB_INCLUDE_DIR}")
  target_compile_definitions(cpp_httplib INTERFACE CPPHTTPLIB_OPENSSL_SUPPORT CPPHTTPLIB_ZLIB_SUPPORT
                                                   CPPHTTPLIB_BROTLI_SUPPORT)
  target_link_libraries(cpp_httplib INTERFACE "${HTTPLIB_LIBRARY}" OpenSSL::Crypto Threads::Threads)
endif()
