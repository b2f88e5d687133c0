# Variables: BUILD (build tree), WORK (scratch folder), CONSUMER (application's source), DELEGATE (that of the sample), SAMPLES (their folder), SOURCE_MODEL (.onnx),
# GENERATOR, CC, CXX, JAVA (where there are classes for it).
file(REMOVE_RECURSE ${WORK})
# The prefix has moved when it is used: nothing in it may know where it was installed.
set(ENV{PKG_CONFIG_PATH} ${WORK}/moved/lib/pkgconfig)
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
file(RENAME ${WORK}/prefix ${WORK}/moved)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK}/build -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=${CC}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/moved -DSAMPLES=${SAMPLES})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} -S ${DELEGATE} -B ${WORK}/delegate -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/delegate)
run(${WORK}/moved/bin/skiff convert ${SOURCE_MODEL} -o ${WORK}/model.skiff)
run(${WORK}/build/consumer ${WORK}/model.skiff)
run(${WORK}/build/minimal ${WORK}/model.skiff)
run(${WORK}/build/traced ${WORK}/traced.skiff)
# The file that was made with an application's delegate is refused, by the number, where that is missing.
run(${WORK}/delegate/skiff-delegate ${WORK}/delegate.skiff)
execute_process(COMMAND ${WORK}/moved/bin/skiff bench ${WORK}/delegate.skiff RESULT_VARIABLE code ERROR_VARIABLE error)
if(NOT code EQUAL 1 OR NOT error MATCHES "application delegate \\(number 128\\)")
  message(FATAL_ERROR "expected a refusal that names the delegate, got ${code}: ${error}")
endif()
run(${WORK}/moved/bin/skiff inspect ${WORK}/delegate.skiff)
foreach(program c_skiff__skiff c_skiff__shared c_PkgConfig__skiff_pc)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/moved/lib ${WORK}/build/${program} ${WORK}/model.skiff)
endforeach()
# Java compiles and runs a single file.
if(EXISTS ${WORK}/moved/share/java/skiff.jar)
  run(${JAVA} -cp ${WORK}/moved/share/java/skiff.jar -Djava.library.path=${WORK}/moved/lib ${CONSUMER}/Main.java
      ${WORK}/model.skiff)
endif()
