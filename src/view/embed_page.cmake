# Puts the page's files into the program:
#   cmake -DFOLDERS=a;b -DOUTPUT=page.cpp -P embed_page.cmake
# writes a source that defines embedded_page() over every *.html *.css *.js *.svg and LICENSE.* of the folders, sorted by name.
cmake_minimum_required(VERSION 3.25)
set(names)
foreach(folder IN LISTS FOLDERS)
  file(GLOB files "${folder}/*.html" "${folder}/*.css" "${folder}/*.js" "${folder}/*.svg" "${folder}/LICENSE.*")
  foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    if(name IN_LIST names)
      message(FATAL_ERROR "two files of the page are named ${name}")
    endif()
    list(APPEND names "${name}")
    set("path_${name}" "${file}")
  endforeach()
endforeach()
list(SORT names)
set(arrays "")
set(table "")
set(number 0)
foreach(name IN LISTS names)
  file(READ "${path_${name}}" hex HEX)
  string(REGEX REPLACE "(..)" "'\\\\x\\1'," bytes "${hex}")
  string(REPLACE "'\\x0a'," "'\\n',\n" bytes "${bytes}")
  string(APPEND arrays "const char kFile${number}[] = {\n${bytes}'\\0'};\n")
  string(APPEND table "      {\"${name}\", std::string_view(kFile${number}, sizeof kFile${number} - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUTPUT}.tmp" "// Made by the build from the files of the page.
#include \"view/page.h\"

namespace assay::view {

namespace {
${arrays}}  // namespace

const Page& embedded_page() {
  static const Page page = {
${table}  };
  return page;
}

}  // namespace assay::view
")
file(RENAME "${OUTPUT}.tmp" "${OUTPUT}")
