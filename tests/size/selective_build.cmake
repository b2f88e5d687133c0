# Variables: SKIFF (the host's tool), SOURCE (the checkout), WORK (scratch folder; its build tree is kept), OTHER_MODEL
# (.onnx, of the one operator OTHER_OPERATOR, which the sample has not).
set(sample ${SOURCE}/samples/characters)
set(case ${sample}/reference/A_roboto-regular_64x64)
file(MAKE_DIRECTORY ${WORK})

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# Runs a command that must end with exit code 1 and say `expected` on standard error.
function(refuse expected)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT code EQUAL 1 OR NOT error MATCHES "${expected}")
    message(FATAL_ERROR "expected exit code 1 and '${expected}', got ${code}:\n${output}${error}")
  endif()
endfunction()

# The elements of a .npy file (version 1), without its header.
function(write_elements npy raw)
  file(READ ${npy} length OFFSET 8 LIMIT 2 HEX)
  string(REGEX REPLACE "(..)(..)" "0x\\2\\1" length ${length})
  math(EXPR begin "10 + ${length}")
  run(bash -c "tail -c +$((${begin} + 1)) '${npy}' > '${raw}'")
endfunction()

set(program ${WORK}/build/samples/run_model/skiff-run)
run(${SKIFF} convert ${sample}/characters.onnx -o ${WORK}/characters.skiff)
run(${SKIFF} convert ${OTHER_MODEL} -o ${WORK}/other.skiff)
run(${SKIFF} size-list ${WORK}/characters.skiff -o ${WORK}/characters.cmake)
write_elements(${case}/input_image.npy ${WORK}/image.bin)
write_elements(${case}/output_logits.npy ${WORK}/logits.bin)

# What the list names is there, and computes what the training framework did.
run(${CMAKE_COMMAND} --preset minimal -B ${WORK}/build -DSKIFF_OPERATORS=${WORK}/characters.cmake)
run(${CMAKE_COMMAND} --build ${WORK}/build --target skiff-run)
run(${program} ${WORK}/characters.skiff --input image=${WORK}/image.bin --expect logits=${WORK}/logits.bin)

# So is a feature that no listed model has, whatever operators the file has.
set(left_out "which this build of Skiff leaves out; .*skiff size-list")
run(${SKIFF} convert ${sample}/characters.onnx --image-size 32x32 -o ${WORK}/image.skiff)
refuse("image.skiff: it has image settings of an input, ${left_out}" ${program} ${WORK}/image.skiff)
set(golden ${SOURCE}/tests/format/golden)
refuse("format_1.skiff: it has plans for more than one shape, ${left_out}" ${program} ${golden}/format_1.skiff)
refuse("format_2.skiff: it has quantised tensors, ${left_out}" ${program} ${golden}/format_2.skiff)
file(WRITE ${WORK}/unknown.cmake "set(SKIFF_FEATURES Images Nothing)\n")
refuse("SKIFF_FEATURES[ \n]+names[ \n]+'Nothing'" ${CMAKE_COMMAND} --preset minimal -B ${WORK}/unknown
       -S ${SOURCE} -DSKIFF_OPERATORS=${WORK}/unknown.cmake)

# An operator that is not on it is refused by its name when the model is opened; a reference kernel, when the session is made.
refuse("node 0 '[^']*' is a ${OTHER_OPERATOR}, which this build of Skiff leaves out; .*skiff size-list" ${program}
       ${WORK}/other.skiff)
refuse("node '[^']+': this build of Skiff leaves out [A-Z][A-Za-z0-9]+ for the reference delegate; .*skiff size-list"
       ${program} ${WORK}/characters.skiff --backend reference)
