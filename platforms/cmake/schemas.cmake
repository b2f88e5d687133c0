# FlatBuffers' readers, generated from schemas.

find_program(SKIFF_FLATC flatc NO_CMAKE_FIND_ROOT_PATH REQUIRED)

# All of them, for tools that read sources without building them.
add_custom_target(generated_headers)

# Makes ${FOLDER}/${NAME}_generated.h from the schema and sets `variable` to its path, to be named among a target's sources.
function(skiff_generate_reader variable)
  cmake_parse_arguments(PARSE_ARGV 1 READER "OBJECT_API" "NAME;SCHEMA;FOLDER" "")
  get_filename_component(schema ${READER_SCHEMA} ABSOLUTE)
  set(copy ${READER_FOLDER}/${READER_NAME}.fbs)  # The reader has its schema's name.
  set(reader ${READER_FOLDER}/${READER_NAME}_generated.h)
  set(options --cpp --cpp-std c++17 --scoped-enums)
  if(READER_OBJECT_API)
    list(APPEND options --gen-object-api)
  endif()
  add_custom_command(
    OUTPUT ${reader}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${schema} ${copy}
    COMMAND ${SKIFF_FLATC} ${options} -o ${READER_FOLDER} ${copy}
    DEPENDS ${schema}
    COMMENT "Generating the reader of ${READER_NAME}")
  string(SHA1 id ${reader})
  add_custom_target(reader_${id} DEPENDS ${reader})
  add_dependencies(generated_headers reader_${id})
  set(${variable} ${reader} PARENT_SCOPE)
endfunction()
