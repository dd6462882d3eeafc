# The rules every target of this project is built by, and the three helpers that apply them.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(ASSAY_CCACHE ccache)
if(ASSAY_CCACHE)
  # What these two let pass is the precompiled header of the tests, which ccache would otherwise not look behind.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${ASSAY_CCACHE}")
endif()

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
find_path(VALIJSON_INCLUDE_DIR valijson/validator.hpp)
if(ASSAY_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest not found: the tests are left out (tools/setup.sh test brings it)")
    set(ASSAY_TESTS OFF)
  endif()
endif()

add_library(house_rules INTERFACE)
target_compile_options(house_rules INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
  # Fused multiply-add is written where it is meant, never chosen by the compiler: the same bits on every
  # instruction set depend on it.
  -ffp-contract=off
  # Paths of the building machine do not enter the binaries.
  "-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports overreads inside inlined std::string and std::variant code that cannot happen.
  target_compile_options(house_rules INTERFACE -Wno-stringop-overread -Wno-restrict -Wno-maybe-uninitialized)
endif()
target_include_directories(house_rules INTERFACE "${CMAKE_SOURCE_DIR}/src")
target_include_directories(house_rules SYSTEM INTERFACE "${RAPIDJSON_INCLUDE_DIR}" "${CLI11_INCLUDE_DIR}")

# Most of a test's compile time is the test framework's headers. They are compiled once for all test programs; the
# other presets compile each file with the includes that it names itself.
if(ASSAY_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_headers.cpp" CONTENT "")
  add_library(test_headers OBJECT "${CMAKE_BINARY_DIR}/test_headers.cpp")
  target_link_libraries(test_headers PRIVATE house_rules GTest::gmock_main)
  target_compile_options(test_headers PRIVATE -O0 -fpch-preprocess)
  target_precompile_headers(test_headers PRIVATE
    <gmock/gmock.h> <gtest/gtest.h> <algorithm> <filesystem> <fstream> <functional> <map> <optional> <string> <vector>)
endif()

# add_house_library(NAME SOURCES … HEADERS … LIBRARIES …): a library of ours. Headers are compiled alone too
# (target all_verify_interface_header_sets).
function(add_house_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;LIBRARIES;PRIVATE_LIBRARIES")
  add_library(${name} STATIC ${arg_SOURCES})
  target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS "${CMAKE_SOURCE_DIR}/src" FILES ${arg_HEADERS})
  target_link_libraries(${name} PUBLIC house_rules ${arg_LIBRARIES} PRIVATE ${arg_PRIVATE_LIBRARIES})
endfunction()

# add_house_program(NAME SOURCES … LIBRARIES …): a program in build/<preset>/bin.
function(add_house_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE house_rules ${arg_LIBRARIES})
endfunction()

# add_house_test(NAME LABEL unit SOURCES … LIBRARIES … [ENVIRONMENT …] [TIMEOUT seconds]): one GoogleTest
# program, run by ctest as one test under the label.
function(add_house_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LIBRARIES;ENVIRONMENT")
  if(NOT ASSAY_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE house_rules ${arg_LIBRARIES} GTest::gmock_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  # What is tested is optimised; the test code itself is not worth the compile time.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
  if(TARGET test_headers)
    target_compile_options(${name} PRIVATE -fpch-preprocess)
    target_precompile_headers(${name} REUSE_FROM test_headers)
  endif()
  target_compile_definitions(${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                             ASSAY_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" TIMEOUT ${arg_TIMEOUT}
                                          ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# add_house_fuzzer(NAME SOURCE file LIBRARIES …): one fuzz entry point. With ASSAY_FUZZ it is a libFuzzer
# program; otherwise a test that replays tests/fuzz/corpus/<NAME>/.
function(add_house_fuzzer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE" "LIBRARIES")
  if(ASSAY_FUZZ)
    add_executable(fuzz_${name} ${arg_SOURCE})
    target_link_libraries(fuzz_${name} PRIVATE house_rules ${arg_LIBRARIES})
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(fuzz_${name} ${arg_SOURCE} "${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp")
    target_link_libraries(fuzz_${name} PRIVATE house_rules ${arg_LIBRARIES})
    set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
    add_test(NAME fuzz_${name} COMMAND fuzz_${name} "${CMAKE_SOURCE_DIR}/tests/fuzz/corpus/${name}")
    set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT 300)
  endif()
endfunction()
