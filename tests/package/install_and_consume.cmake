# Variables: BUILD (build tree), WORK (scratch folder), CONSUMER (application's source), SOURCE_MODEL (.onnx),
# GENERATOR, CC, CXX.
file(REMOVE_RECURSE ${WORK})
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/prefix/bin/skiff convert ${SOURCE_MODEL} -o ${WORK}/model.skiff)
run(${WORK}/build/consumer ${WORK}/model.skiff)
