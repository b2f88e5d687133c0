# Variables: SKIFF (the host's tool), SOURCE (the checkout), WORK (scratch folder; its build tree is kept), ALL_SHADERS (the
# object file of a build with all shaders), NM.
cmake_policy(SET CMP0057 NEW)
set(sample ${SOURCE}/samples/characters)
set(case ${sample}/reference/A_roboto-regular_64x64)
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Shader variables of an object file, k<Name>0 for f32, k<Name>1 for f16 and some k<Name>2 for f16 arithmetic, and their
# bytes.
function(read_shaders object names_to bytes_to)
  execute_process(COMMAND ${NM} --print-size --radix=d ${object} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "[0-9]+ r [A-Za-z0-9_]*L[0-9]+k[A-Za-z0-9]+[012]E" symbols "${symbols}")
  set(names "")
  set(bytes 0)
  foreach(symbol IN LISTS symbols)
    string(REGEX REPLACE "^0*([0-9]+) r .*L[0-9]+k([A-Za-z0-9]+[012])E$" "\\1;\\2" parts "${symbol}")
    list(GET parts 0 size)
    list(GET parts 1 name)
    list(APPEND names ${name})
    math(EXPR bytes "${bytes} + ${size}")
  endforeach()
  set(${names_to} "${names}" PARENT_SCOPE)
  set(${bytes_to} ${bytes} PARENT_SCOPE)
endfunction()

run(${SKIFF} convert ${sample}/characters.onnx -o ${WORK}/characters.skiff --target vulkan)
run(${SKIFF} size-list ${WORK}/characters.skiff -o ${WORK}/characters.cmake)
run(${CMAKE_COMMAND} --preset minimal -B ${WORK}/build -DSKIFF_VULKAN=ON -DSKIFF_LTO=OFF
    -DSKIFF_OPERATORS=${WORK}/characters.cmake)
run(${CMAKE_COMMAND} --build ${WORK}/build --target skiff-run)

# No reference kernel is there to take over: a shader that is missing is an error.
run(${WORK}/build/samples/run_model/skiff-run ${WORK}/characters.skiff --backend vulkan --input
    image=${case}/input_image.npy --expect logits=${case}/output_logits.npy)

set(folder delegates/vulkan/CMakeFiles/skiff_delegate_vulkan.dir/shaders)
read_shaders(${WORK}/build/${folder}/shader_code.cpp.o names bytes)
read_shaders(${ALL_SHADERS}/${folder}/shader_code.cpp.o all_names all_bytes)
list(LENGTH names count)
list(LENGTH all_names all_count)
message(STATUS "shaders: ${count} with ${bytes} bytes, of ${all_count} with ${all_bytes}: ${names}")

# All variants of the families in the list, as many as each has, and nothing else.
include(${WORK}/characters.cmake)
file(STRINGS ${SOURCE}/delegates/vulkan/pipelines/shaders.def rows REGEX "^SHADER\\(")
set(expected "")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^SHADER\\((.*), (.*)\\)$" "\\1;\\2" parts "${row}")
  list(GET parts 0 name)
  list(GET parts 1 family)
  set(variants ${all_names})
  list(FILTER variants INCLUDE REGEX "^${name}[012]$")
  if(NOT variants)
    message(FATAL_ERROR "the build with all shaders has none of ${family}")
  endif()
  if(family IN_LIST SKIFF_VULKAN_SHADERS)
    list(APPEND expected ${variants})
  endif()
endforeach()
list(SORT names)
list(SORT expected)
if(NOT names STREQUAL expected OR count EQUAL 0 OR NOT bytes LESS all_bytes)
  message(FATAL_ERROR "expected the shaders of ${SKIFF_VULKAN_SHADERS}: ${expected}")
endif()
