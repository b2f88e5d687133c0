# Build options, and the compile options of our own code. Third-party code never uses these interface targets.
include(auto_option)
option(SKIFF_BUILD_TESTS "Build the tests" ON)
option(SKIFF_BUILD_SAMPLES "Build the samples" ON)
option(SKIFF_BUILD_BENCHMARKS "Build the benchmarks" OFF)
set(SKIFF_PLATFORM posix CACHE STRING "Folder of platforms/ with the platform seam (runtime/core/platform.h)")
option(SKIFF_DELEGATE_XNNPACK "Build the XNNPACK delegate" ON)
option(SKIFF_XNNPACK_UNARY "Run unary operators on XNNPACK's kernels where these are better; OFF: on ours, which are smaller"
       ON)
option(SKIFF_OWN_CONVOLUTIONS "Run convolutions on kernels of ours where these are faster on 64-bit Arm; OFF: 140 kB less" ON)
# The headers and the shader compiler are found on the host; the loader is opened at run time.
find_path(SKIFF_VOLK_INCLUDE volk.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
find_path(SKIFF_VULKAN_INCLUDE vulkan/vulkan.h PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH)
find_program(SKIFF_GLSLC glslc NO_CMAKE_FIND_ROOT_PATH)
if(SKIFF_VOLK_INCLUDE AND SKIFF_VULKAN_INCLUDE AND SKIFF_GLSLC)
  set(skiff_vulkan_found ON)
else()
  set(skiff_vulkan_found OFF)
endif()
skiff_auto_option(SKIFF_VULKAN "Build the Vulkan delegate; by itself where volk, the Vulkan headers and glslc are found"
                  ${skiff_vulkan_found})
set(SKIFF_VULKAN_SHADERS "" CACHE STRING "Shader families to build in (delegates/vulkan/pipelines/shaders.def), or empty: all")
# Android's own compiler brings jni.h; elsewhere that of any JDK serves, also for another CPU.
file(GLOB skiff_jdks LIST_DIRECTORIES TRUE /usr/lib/jvm/java-*-openjdk-*)
find_path(SKIFF_JNI_INCLUDE jni.h PATHS $ENV{JAVA_HOME}/include ${skiff_jdks} PATH_SUFFIXES include NO_CMAKE_FIND_ROOT_PATH)
if(ANDROID OR SKIFF_JNI_INCLUDE)
  set(skiff_jni_found ON)
else()
  set(skiff_jni_found OFF)
endif()
skiff_auto_option(SKIFF_JNI "Build the library for Java; by itself where jni.h is found" ${skiff_jni_found})
# Python's headers, nanobind, and NumPy, which the package is imported with: of the environment that platforms/setup made for the
# tests, else of the python3 that is found. scikit-build-core names both itself; a cross build takes nothing but what it names, an
# interpreter of the target's that runs here (platforms/python/emulated).
set(skiff_python_found OFF)
if(NOT CMAKE_CROSSCOMPILING OR DEFINED Python_EXECUTABLE)
  set(skiff_python_environment ${PROJECT_SOURCE_DIR}/build/python_env/bin/python3)
  if(NOT DEFINED Python_EXECUTABLE AND EXISTS ${skiff_python_environment})
    set(Python_EXECUTABLE ${skiff_python_environment})
  endif()
  find_package(Python 3.11 COMPONENTS Interpreter Development.Module QUIET)
  if(DEFINED CACHE{nanobind_DIR} AND NOT EXISTS "${nanobind_DIR}")
    unset(nanobind_DIR CACHE)  # Of an environment that is no more.
  endif()
  if(Python_FOUND AND NOT DEFINED nanobind_DIR)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import numpy, nanobind; print(nanobind.cmake_dir())"
                    OUTPUT_VARIABLE skiff_nanobind_dir OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(skiff_nanobind_dir)
      set(nanobind_DIR ${skiff_nanobind_dir} CACHE PATH "Where nanobind's package file is")
    endif()
  endif()
  if(Python_FOUND AND DEFINED nanobind_DIR)
    set(skiff_python_found ON)
  endif()
endif()
# That of the target: a toolchain's search path says where it is.
find_path(SKIFF_SODIUM_INCLUDE sodium.h)
find_library(SKIFF_SODIUM_LIBRARY sodium)
if(SKIFF_SODIUM_INCLUDE AND SKIFF_SODIUM_LIBRARY)
  set(skiff_sodium_found ON)
else()
  set(skiff_sodium_found OFF)
endif()
skiff_auto_option(SKIFF_SIGNATURES "Build the library that checks signatures of models; by itself where libsodium is found"
                  ${skiff_sodium_found})
set(SKIFF_OPERATORS "" CACHE FILEPATH "List of the operators to build in (skiff size-list writes it), or empty: all")
option(SKIFF_LTO "Optimise the runtime and its delegates as one program where a program asks for it at its link, too (GCC)" OFF)
option(SKIFF_WERROR "Treat warnings as errors" OFF)
if(CMAKE_CROSSCOMPILING)
  set(skiff_on_host OFF)
else()
  set(skiff_on_host ON)
endif()
option(SKIFF_BUILD_CONVERTER "Build the converter and the host tool" ${skiff_on_host})
option(SKIFF_CROSS_RUNTIME_TESTS
       "Build the runtime's own tests although the converter is not built: with its library, but for the importers" OFF)
option(SKIFF_COMPILE_ONCE
       "Compile the converter and the tool for a first look: in large pieces and at -O1. The first build takes half as long, later ones longer" OFF)
set(SKIFF_SANITIZE "" CACHE STRING "Sanitizers for everything that is compiled here: \"address,undefined\", \"thread\" or empty")
# Interpreters are not instrumented: with sanitizers it is built where it is asked for.
if(SKIFF_BUILD_CONVERTER AND skiff_python_found AND NOT SKIFF_SANITIZE)
  set(skiff_python_wanted ON)
else()
  set(skiff_python_wanted OFF)
endif()
skiff_auto_option(SKIFF_PYTHON "Build the Python package; by itself with the converter, where Python's headers and nanobind are found"
                  ${skiff_python_wanted})
option(SKIFF_PYTHON_RUNTIME "Of the Python package, build what runs models alone: no converter, no tool" OFF)

find_program(SKIFF_CCACHE ccache)
foreach(language C CXX)
  if(SKIFF_CCACHE AND NOT DEFINED CMAKE_${language}_COMPILER_LAUNCHER)
    set(CMAKE_${language}_COMPILER_LAUNCHER ${SKIFF_CCACHE})
  endif()
endforeach()

set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_EXTENSIONS OFF)

# -O2, not CMake's -O3: the fast loops live in the delegates' kernels, and the rest is measured in bytes.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

# Sanitizers are directory-wide so that pthreadpool is instrumented too: a data race hides in an uninstrumented pool.
# The vptr check needs the type information that the runtime is built without.
if(SKIFF_SANITIZE)
  add_compile_options(-fsanitize=${SKIFF_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=${SKIFF_SANITIZE})
  # For sources that take long to compile and little time to run.
  set(skiff_quick_compile -O0)
  if(SKIFF_SANITIZE MATCHES "undefined")
    add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=vptr>)
  endif()
endif()

# With SKIFF_COMPILE_ONCE, what many sources of a target include is read once, and sources are compiled ten at a time, but for those
# that match EXCEPT: they have names in common. Without it nothing happens, so that sources include what they use. HEADERS are none of
# Skiff's own, whose names sources that do not include them may give to something else.
function(skiff_compile_once target)
  cmake_parse_arguments(arg "" "EXCEPT" "HEADERS" ${ARGN})
  if(NOT SKIFF_COMPILE_ONCE)
    return()
  endif()
  target_compile_options(${target} PRIVATE -O1)
  target_precompile_headers(${target} PRIVATE <algorithm> <filesystem> <functional> <map> <memory> <optional> <string> <vector>
                            <fmt/format.h> ${arg_HEADERS})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
  get_target_property(sources ${target} SOURCES)
  if(arg_EXCEPT)
    list(FILTER sources INCLUDE REGEX "${arg_EXCEPT}")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# What every target of Skiff links. Contraction into fused multiply-add is off so that the reference kernels give the
# same bits on every compiler and CPU; kernels that want it ask for it.
add_library(skiff_options INTERFACE)
target_compile_features(skiff_options INTERFACE cxx_std_20)
target_compile_options(skiff_options INTERFACE -Wall -Wextra -Wnon-virtual-dtor -ffp-contract=off
                                               $<$<BOOL:${SKIFF_WERROR}>:-Werror>)
# GCC 12 reports overlapping copies inside its own std::string where there are none (GCC bug 105651).
target_compile_options(
  skiff_options
  INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>)
# What only operators that are left out use is dropped by the compiler, and no mistake.
target_compile_options(skiff_options INTERFACE $<$<BOOL:${SKIFF_OPERATORS}>:-Wno-unused-function>)
# Files of 2 GiB and more, large inode numbers and times behind 2038 in 32-bit builds with glibc, too.
if(CMAKE_SIZEOF_VOID_P EQUAL 4 AND NOT ANDROID)
  target_compile_definitions(skiff_options INTERFACE _FILE_OFFSET_BITS=64 _TIME_BITS=64)
endif()
target_include_directories(skiff_options INTERFACE ${PROJECT_SOURCE_DIR})

# What device code (runtime/, delegates/, platforms/) links instead: it has to be small and must not throw. A build for
# size has no tables to unwind it by, either: a tenth of the code; nor does it spread the instructions that save
# registers, which come in pairs. Objects for link-time optimisation hold machine code as well: a program may link them
# as any others.
add_library(skiff_runtime_options INTERFACE)
target_link_libraries(skiff_runtime_options INTERFACE skiff_options)
target_compile_options(
  skiff_runtime_options
  INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions> $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti> -ffunction-sections
            -fdata-sections -fvisibility=hidden -fvisibility-inlines-hidden
            $<$<CONFIG:MinSizeRel>:-fno-asynchronous-unwind-tables> $<$<CONFIG:MinSizeRel>:-fno-unwind-tables>
            $<$<AND:$<CONFIG:MinSizeRel>,$<CXX_COMPILER_ID:GNU>>:-fno-schedule-insns2>)
set(skiff_lto $<AND:$<BOOL:${SKIFF_LTO}>,$<CXX_COMPILER_ID:GNU>>)
target_compile_options(skiff_runtime_options INTERFACE $<${skiff_lto}:-flto=auto> $<${skiff_lto}:-ffat-lto-objects>)

# Device executables link this to drop what they do not use.
add_library(skiff_small_executable INTERFACE)
target_link_options(skiff_small_executable INTERFACE -Wl,--gc-sections -Wl,-z,max-page-size=16384
                                                        $<${skiff_lto}:-flto=auto>)
