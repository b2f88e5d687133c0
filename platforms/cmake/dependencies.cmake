# Every dependency of Skiff, and nothing else. All of them are reached through the targets defined here:
#   skiff_third_party::flatbuffers   headers only                                    runtime
#   skiff_third_party::xnnpack       XNNPACK, its micro-kernels, cpuinfo, pool       delegates/xnnpack
#   skiff_third_party::pthreadpool   compiled in this build tree                     delegates
#   skiff_third_party::volk          Vulkan's headers, and its loader opened at run   delegates/vulkan
#                                    time
#   skiff_third_party::onnx_proto    the ONNX protobuf classes (1.12) and protobuf   converter
#   skiff_third_party::minizip       archives behind TensorFlow Lite models           converter
#   skiff_third_party::{jpeg,png}    pictures in files (libjpeg-turbo, libpng)        converter
#   skiff_third_party::{cli11,fmt,json,xxhash}                                       converter
#   skiff_third_party::sodium        signatures of models (libsodium)                 runtime/signature, converter
#   GTest::gtest GTest::gtest_main GTest::gmock GTest::gmock_main                    tests
find_package(Threads REQUIRED)

# A header-only package of the host serves every target CPU. A cross compiler must not see the host's whole include
# folder, so it gets a folder that holds nothing but the wanted headers.
function(skiff_add_headers name header)
  string(TOUPPER ${name} upper)
  find_path(SKIFF_${upper}_INCLUDE ${header} PATHS /usr/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(include ${SKIFF_${upper}_INCLUDE})
  if(CMAKE_CROSSCOMPILING)
    get_filename_component(folder ${header} DIRECTORY)
    set(include ${PROJECT_BINARY_DIR}/third_party/${name})
    file(MAKE_DIRECTORY ${include})
    if(folder STREQUAL "")
      set(folder ${header})
    endif()
    file(CREATE_LINK ${SKIFF_${upper}_INCLUDE}/${folder} ${include}/${folder} SYMBOLIC)
  endif()
  add_library(skiff_third_party::${name} INTERFACE IMPORTED GLOBAL)
  target_include_directories(skiff_third_party::${name} SYSTEM INTERFACE ${include})
endfunction()

skiff_add_headers(flatbuffers flatbuffers/flatbuffers.h)

# XNNPACK is built once per CPU architecture and shared by all presets; pthreadpool is small, and compiled here so
# that the sanitizers see its synchronisation, and with threads that sleep when they have nothing to do (workers.h).
if(SKIFF_DELEGATE_XNNPACK)
  set(skiff_third_party_root ${PROJECT_SOURCE_DIR}/build/third_party)
  set(skiff_third_party_arch ${CMAKE_SYSTEM_PROCESSOR})
  set(arguments)
  if(CMAKE_TOOLCHAIN_FILE)
    list(APPEND arguments -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TOOLCHAIN_FILE})
  endif()
  if(ANDROID)
    set(skiff_third_party_arch android-${ANDROID_ABI})
    list(APPEND arguments -DANDROID_ABI=${ANDROID_ABI} -DANDROID_PLATFORM=${ANDROID_PLATFORM})
  endif()
  set(compilers)
  if(SKIFF_SANITIZE MATCHES "fuzzer")
    # The fuzzers have one of their own, which is instrumented and takes five times as long to build.
    string(APPEND skiff_third_party_arch -fuzz)
    list(APPEND arguments -DSKIFF_SANITIZE=${SKIFF_SANITIZE})
    set(compilers CC=${CMAKE_C_COMPILER} CXX=${CMAKE_CXX_COMPILER})
  endif()
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env ${compilers} bash ${PROJECT_SOURCE_DIR}/platforms/third_party/build.sh ${skiff_third_party_arch} ${arguments}
    COMMAND_ERROR_IS_FATAL ANY)

  set(skiff_third_party_include ${skiff_third_party_root}/${skiff_third_party_arch}/include)
  foreach(library XNNPACK microkernels-prod cpuinfo)
    add_library(skiff_third_party::${library} STATIC IMPORTED GLOBAL)
    set_target_properties(
      skiff_third_party::${library}
      PROPERTIES IMPORTED_LOCATION ${skiff_third_party_root}/${skiff_third_party_arch}/lib/lib${library}.a)
  endforeach()

  # Its fast path (an atomic decrement instead of a compare-and-swap per item) is on where its own build has it on.
  set(pool ${skiff_third_party_root}/src/pthreadpool)
  set(pool_fast_path $<STREQUAL:${CMAKE_SYSTEM_PROCESSOR},x86_64>)
  add_library(pthreadpool STATIC ${pool}/src/portable-api.c ${pool}/src/memory.c delegates/xnnpack/workers.c
                                 $<${pool_fast_path}:${pool}/src/fastpath.c>)
  set_target_properties(pthreadpool PROPERTIES C_STANDARD 11 C_EXTENSIONS OFF)
  target_include_directories(pthreadpool SYSTEM PUBLIC ${pool}/include)
  target_include_directories(pthreadpool PRIVATE ${pool}/src ${skiff_third_party_root}/src/fxdiv/include ${PROJECT_SOURCE_DIR})
  target_compile_definitions(pthreadpool PUBLIC PTHREADPOOL_NO_DEPRECATED_API=1
                                         PRIVATE PTHREADPOOL_USE_FASTPATH=${pool_fast_path} _GNU_SOURCE=1)
  target_compile_options(pthreadpool PRIVATE -w -ffunction-sections -fdata-sections
                                             $<$<CONFIG:MinSizeRel>:-fno-asynchronous-unwind-tables>)
  target_link_libraries(pthreadpool PUBLIC Threads::Threads)
  add_library(skiff_third_party::pthreadpool ALIAS pthreadpool)

  add_library(skiff_third_party::xnnpack INTERFACE IMPORTED GLOBAL)
  target_include_directories(skiff_third_party::xnnpack SYSTEM INTERFACE ${skiff_third_party_include})
  target_link_libraries(
    skiff_third_party::xnnpack
    INTERFACE skiff_third_party::XNNPACK skiff_third_party::microkernels-prod skiff_third_party::cpuinfo pthreadpool
              ${CMAKE_DL_LIBS} m)
endif()

# volk comes as one source file, and opens the loader at run time: nothing of Vulkan is linked. As above, a cross
# compiler sees a folder with what is wanted.
if(SKIFF_VULKAN)
  set(include ${PROJECT_BINARY_DIR}/third_party/vulkan)
  file(MAKE_DIRECTORY ${include})
  foreach(header vulkan vk_video)
    file(CREATE_LINK ${SKIFF_VULKAN_INCLUDE}/${header} ${include}/${header} SYMBOLIC)
  endforeach()
  file(CREATE_LINK ${SKIFF_VOLK_INCLUDE}/volk.h ${include}/volk.h SYMBOLIC)
  add_library(volk STATIC ${SKIFF_VOLK_INCLUDE}/volk.c)
  target_include_directories(volk SYSTEM PUBLIC ${include})
  target_compile_definitions(volk PUBLIC VK_NO_PROTOTYPES)
  target_compile_options(volk PRIVATE -w -ffunction-sections -fdata-sections)
  target_link_libraries(volk PUBLIC ${CMAKE_DL_LIBS})
  add_library(skiff_third_party::volk ALIAS volk)
endif()

if(SKIFF_BUILD_CONVERTER)
  find_package(fmt REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(nlohmann_json REQUIRED)
  add_library(skiff_third_party::fmt ALIAS fmt::fmt)
  add_library(skiff_third_party::cli11 ALIAS CLI11::CLI11)
  add_library(skiff_third_party::json ALIAS nlohmann_json::nlohmann_json)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(skiff_xxhash REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
  add_library(skiff_third_party::xxhash ALIAS PkgConfig::skiff_xxhash)
  foreach(library jpeg png)
    pkg_check_modules(skiff_${library} REQUIRED IMPORTED_TARGET GLOBAL lib${library})
    add_library(skiff_third_party::${library} ALIAS PkgConfig::skiff_${library})
  endforeach()
  pkg_check_modules(skiff_minizip REQUIRED IMPORTED_TARGET GLOBAL minizip)
  add_library(skiff_third_party::minizip ALIAS PkgConfig::skiff_minizip)

  # The ONNX package gives a shared library of the protobuf classes and the definitions to read their headers with.
  find_package(Protobuf REQUIRED)
  find_package(ONNX CONFIG REQUIRED)
  add_library(skiff_third_party::onnx_proto INTERFACE IMPORTED GLOBAL)
  target_link_libraries(skiff_third_party::onnx_proto INTERFACE onnx_proto)
endif()

if(SKIFF_SIGNATURES)
  add_library(skiff_third_party::sodium UNKNOWN IMPORTED GLOBAL)
  set_target_properties(skiff_third_party::sodium PROPERTIES IMPORTED_LOCATION ${SKIFF_SODIUM_LIBRARY}
                                                             INTERFACE_INCLUDE_DIRECTORIES ${SKIFF_SODIUM_INCLUDE})
endif()

if(SKIFF_CROSS_RUNTIME_TESTS AND NOT SKIFF_BUILD_CONVERTER)
  skiff_add_headers(fmt fmt/format.h)
  target_compile_definitions(skiff_third_party::fmt INTERFACE FMT_HEADER_ONLY)
  skiff_add_headers(xxhash xxhash.h)
  target_compile_definitions(skiff_third_party::xxhash INTERFACE XXH_INLINE_ALL)
endif()

if(SKIFF_BUILD_TESTS)
  if(CMAKE_CROSSCOMPILING)
    find_path(SKIFF_GOOGLETEST_SOURCE googletest/src/gtest-all.cc PATHS /usr/src/googletest NO_CMAKE_FIND_ROOT_PATH
                                                                        REQUIRED)
    set(INSTALL_GTEST OFF CACHE INTERNAL "")
    add_subdirectory(${SKIFF_GOOGLETEST_SOURCE} ${PROJECT_BINARY_DIR}/third_party/googletest EXCLUDE_FROM_ALL)
  else()
    find_package(GTest REQUIRED)
  endif()
endif()
