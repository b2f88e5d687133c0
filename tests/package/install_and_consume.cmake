# Variables: BUILD (build tree), WORK (scratch folder), CONSUMER (application's source), SOURCE_MODEL (.onnx),
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
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/moved)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/moved/bin/skiff convert ${SOURCE_MODEL} -o ${WORK}/model.skiff)
run(${WORK}/build/consumer ${WORK}/model.skiff)
run(${WORK}/build/traced ${WORK}/traced.skiff)
foreach(program c_skiff__skiff c_skiff__shared c_PkgConfig__skiff_pc)
  run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/moved/lib ${WORK}/build/${program} ${WORK}/model.skiff)
endforeach()
# Java compiles and runs a single file.
if(EXISTS ${WORK}/moved/share/java/skiff.jar)
  run(${JAVA} -cp ${WORK}/moved/share/java/skiff.jar -Djava.library.path=${WORK}/moved/lib ${CONSUMER}/Main.java
      ${WORK}/model.skiff)
endif()
