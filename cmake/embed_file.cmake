# Compiles a file into a program:
#   cmake -DINPUT=file -DOUTPUT=file.cpp -DNAMESPACE=a::b -DNAME=kName -P embed_file.cmake
# writes a source that defines `const std::string_view NAME` over the file's bytes.
file(READ "${INPUT}" hex HEX)
string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
string(REPLACE "'\\x0a'," "'\\n',\n" bytes "${bytes}")
get_filename_component(input_name "${INPUT}" NAME)
file(WRITE "${OUTPUT}.tmp" "// Made by the build from ${input_name}.
#include <string_view>

namespace ${NAMESPACE} {

extern const std::string_view ${NAME};

namespace {
const char kBytes[] = {
${bytes}'\\0'};
}  // namespace

const std::string_view ${NAME}(kBytes, sizeof kBytes - 1);

}  // namespace ${NAMESPACE}
")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
