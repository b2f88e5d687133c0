# What is installed after a folder was configured is found by the next configuration, unless somebody has said ON or OFF.
# Variables: SOURCE (the checkout), WORK (scratch folder).
file(REMOVE_RECURSE ${WORK})
file(WRITE ${WORK}/project/CMakeLists.txt "
cmake_minimum_required(VERSION 3.25)
project(options LANGUAGES NONE)
list(APPEND CMAKE_MODULE_PATH ${SOURCE}/platforms/cmake)
include(auto_option)
skiff_auto_option(OPTION \"Build something; by itself where it is found\" \${FOUND})
if(OPTION)
  message(STATUS \"it is ON\")
else()
  message(STATUS \"it is OFF\")
endif()
")

function(expect value)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${WORK}/project -B ${WORK}/build ${ARGN} OUTPUT_VARIABLE said
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT said MATCHES "it is ${value}")
    message(SEND_ERROR "with ${ARGN} the option should be ${value}:\n${said}")
  endif()
endfunction()

expect(OFF -DFOUND=OFF)
expect(ON -DFOUND=ON)
expect(OFF -DOPTION=OFF)
expect(OFF)
expect(ON -DFOUND=OFF -DOPTION=ON)
expect(OFF -DOPTION=AUTO)
expect(ON -DFOUND=ON)

# And no option keeps what was found.
file(READ ${SOURCE}/platforms/cmake/options.cmake text)
if(text MATCHES "\noption\\([A-Z_]+ \"[^\"]*\"[ \n]*.{skiff_[a-z]+_(found|wanted)}")
  message(SEND_ERROR "an option of options.cmake keeps what was found once; skiff_auto_option() does not:\n${CMAKE_MATCH_0}")
endif()
