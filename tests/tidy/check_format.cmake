# Fails when a C++ file of ours is not as .clang-format wants it.
set(files)
foreach(folder src apps tests bench examples)
  file(GLOB_RECURSE found "${SOURCE_DIR}/${folder}/*.h" "${SOURCE_DIR}/${folder}/*.cpp")
  list(APPEND files ${found})
endforeach()
execute_process(COMMAND "${CLANG_FORMAT}" --dry-run --Werror ${files} RESULT_VARIABLE status
                ERROR_VARIABLE problems)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "not formatted (run clang-format -i on them):\n${problems}")
endif()
