# Writes OUTPUT with the commit of SOURCE_DIR; leaves the file alone when nothing changed.
set(commit "0000000000000000000000000000000000000000")
execute_process(COMMAND git -C "${SOURCE_DIR}" rev-parse HEAD OUTPUT_VARIABLE head
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
if(status EQUAL 0 AND head MATCHES "^[0-9a-f]+$")
  string(LENGTH "${head}" length)
  if(length EQUAL 40)
    set(commit "${head}")
  endif()
endif()
set(text "#include \"base/build_info.h\"

namespace assay {
std::string_view build_version() { return \"${VERSION}\"; }
std::string_view build_commit() { return \"${commit}\"; }
}  // namespace assay
")
set(old "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" old)
endif()
if(NOT old STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
