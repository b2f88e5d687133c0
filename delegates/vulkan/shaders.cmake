# Compiles shaders/*.comp with glslc into tables of words, and writes the source that holds them:
#   skiff_vulkan_shaders(TARGET)   adds that source to the target.
# Operators are told apart inside of a shader by their numbers in ops.def, which it includes as ops.glsl.
function(skiff_vulkan_shaders target)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR}/vulkan)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/vulkan_shaders)
  set(operators ${PROJECT_SOURCE_DIR}/runtime/ops/ops.def)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${operators} ${folder}/shaders.def)

  file(STRINGS ${operators} rows REGEX "^OP\\(")
  set(numbers "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^OP\\( *([0-9]+), *([A-Za-z0-9]+),.*" "#define OP_\\2 \\1u" define "${row}")
    string(APPEND numbers "${define}\n")
  endforeach()
  file(GENERATE OUTPUT ${generated}/ops.glsl CONTENT "${numbers}")

  file(STRINGS ${folder}/shaders.def rows REGEX "^SHADER\\(")
  set(source "#include \"delegates/vulkan/shader_code.h\"\n\nnamespace skiff::vulkan {\nnamespace {\n\n")
  set(table "")
  set(tables "")
  foreach(row IN LISTS rows)
    string(REGEX REPLACE "^SHADER\\((.*), (.*)\\)$" "\\1;\\2" names "${row}")
    list(GET names 0 name)
    list(GET names 1 file)
    set(row_words "")
    if((SKIFF_VULKAN_SHADERS OR SKIFF_OPERATORS) AND NOT file IN_LIST SKIFF_VULKAN_SHADERS)
      string(APPEND table "    {},\n")
      continue()
    endif()
    foreach(half 0 1)
      set(words ${generated}/${file}_${half}.inc)
      add_custom_command(
        OUTPUT ${words}
        COMMAND ${SKIFF_GLSLC} --target-env=vulkan1.1 -O -DF16=${half} -I ${generated} -mfmt=num
                ${folder}/shaders/${file}.comp -o ${words}
        DEPENDS ${folder}/shaders/${file}.comp ${folder}/shaders/common.glsl ${folder}/shaders/math.glsl
                ${generated}/ops.glsl
        VERBATIM)
      list(APPEND tables ${words})
      string(APPEND source "constexpr uint32_t k${name}${half}[] = {\n#include \"${words}\"\n};\n")
      string(APPEND row_words "{k${name}${half}, sizeof(k${name}${half})}, ")
    endforeach()
    string(APPEND table "    {${row_words}},\n")
  endforeach()
  string(APPEND source "\nconstexpr ShaderCode kCode[][2] = {\n${table}};\n\n}  // namespace\n\n")
  string(APPEND source "ShaderCode CodeOf(Shader shader, bool f16) {\n")
  string(APPEND source "  return kCode[static_cast<size_t>(shader)][f16 ? 1 : 0];\n}\n\n}  // namespace skiff::vulkan\n")
  if(SKIFF_VULKAN_SHADERS)
    foreach(file IN LISTS SKIFF_VULKAN_SHADERS)
      if(NOT "${rows}" MATCHES ", ${file}\\)")
        message(FATAL_ERROR "SKIFF_VULKAN_SHADERS names '${file}', which is not in ${folder}/shaders.def")
      endif()
    endforeach()
  endif()
  file(GENERATE OUTPUT ${generated}/shader_code.cpp CONTENT "${source}")
  set_source_files_properties(${generated}/shader_code.cpp PROPERTIES OBJECT_DEPENDS "${tables}")
  target_sources(${target} PRIVATE ${generated}/shader_code.cpp)
endfunction()
