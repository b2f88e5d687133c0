# Installs what an application links: headers, static libraries (ours and the kernels' under lib/skiff/), the shared
# library of the C API, Java's classes with their library, the frontend for C++ programs on the host, the tools, the
# licences, and how to find them: a package file for find_package(skiff CONFIG), and one for pkg-config. The package file is
# written by hand rather than exported: the archives form one link group, and their build-tree dependencies mean nothing to
# an application.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(skiff_library_dir ${CMAKE_INSTALL_LIBDIR}/skiff)
set(skiff_shared_library ${CMAKE_INSTALL_LIBDIR}/libskiff.so.${PROJECT_VERSION})
set(skiff_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skiff)

install(DIRECTORY runtime/include/skiff delegates/include/skiff DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES ${PROJECT_BINARY_DIR}/runtime/generated/skiff/version.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skiff)

set(skiff_archives)
foreach(target skiff_c skiff_image skiff_delegates skiff_delegate_vulkan skiff_delegate_xnnpack skiff_delegate_support skiff_runtime skiff_platform
               pthreadpool volk)
  if(TARGET ${target})
    install(TARGETS ${target} ARCHIVE DESTINATION ${skiff_library_dir})
    list(APPEND skiff_archives lib${target}.a)
  endif()
endforeach()
# Beside the group, because it is what needs libsodium: skiff::signature.
set(skiff_has_signature OFF)
if(TARGET skiff_signature)
  install(TARGETS skiff_signature ARCHIVE DESTINATION ${skiff_library_dir})
  set(skiff_has_signature ON)
endif()
if(SKIFF_DELEGATE_XNNPACK)
  foreach(library XNNPACK microkernels-prod cpuinfo)
    get_target_property(archive skiff_third_party::${library} IMPORTED_LOCATION)
    install(FILES ${archive} DESTINATION ${skiff_library_dir})
    list(APPEND skiff_archives lib${library}.a)
  endforeach()
  foreach(name xnnpack pthreadpool cpuinfo fxdiv fp16)
    install(FILES ${skiff_third_party_root}/src/${name}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR}
            RENAME LICENSE.${name})
  endforeach()
endif()
if(TARGET skiff_shared)
  install(TARGETS skiff_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  # The folder of libraries may be deep: lib/x86_64-linux-gnu.
  file(RELATIVE_PATH skiff_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(platforms/cmake/skiff.pc.in ${PROJECT_BINARY_DIR}/skiff.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/skiff.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
# For Java programs on the desktop and on boards; Android takes both from its AAR.
if(TARGET skiff_jni)
  install(TARGETS skiff_jni LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  if(TARGET skiff_java_natives)
    install(FILES $<TARGET_PROPERTY:skiff_java_natives,JAR_FILE> DESTINATION ${CMAKE_INSTALL_DATADIR}/java)
  endif()
endif()
if(TARGET skiff_java)
  install_jar(skiff_java DESTINATION ${CMAKE_INSTALL_DATADIR}/java)
  install(FILES $<TARGET_PROPERTY:skiff_java_documentation,JAR_FILES> DESTINATION ${CMAKE_INSTALL_DATADIR}/java)
endif()
# What a delegate of an application's own is written with, beside the public headers: what an operator is. These headers name
# each other from the runtime's root, so they get a folder of their own.
set(skiff_delegate_headers ${CMAKE_INSTALL_INCLUDEDIR}/skiff-delegate)
foreach(header core/fixed_array.h ops/attrs.h ops/build_ops.h ops/op.h ops/op_codes.h ops/ops.def)
  cmake_path(GET header PARENT_PATH folder)
  install(FILES runtime/${header} DESTINATION ${skiff_delegate_headers}/${folder})
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/runtime/generated/ops/build_ops.def DESTINATION ${skiff_delegate_headers}/ops)
# The C++ frontend, for programs on the host: the package's component "trace". Its headers name those of the converter from
# its root.
set(skiff_has_trace OFF)
if(TARGET skiff_trace)
  set(skiff_host_headers ${CMAKE_INSTALL_INCLUDEDIR}/skiff-host)
  install(DIRECTORY converter/trace DESTINATION ${skiff_host_headers} FILES_MATCHING PATTERN "*.h" PATTERN "*.inc")
  foreach(header graph/dim.h graph/error.h graph/evaluate.h graph/graph.h graph/port_notes.h graph/quantization.h graph/text.h passes/passes.h
                 shape_contract.h)
    cmake_path(GET header PARENT_PATH folder)
    install(FILES converter/${header} DESTINATION ${skiff_host_headers}/${folder})
  endforeach()
  install(TARGETS skiff_trace skiff_converter ARCHIVE DESTINATION ${skiff_library_dir})
  set(skiff_has_trace ON)
endif()
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
# What comes from packages of the system and is compiled in; Debian keeps their licences here.
set(skiff_licence_flatbuffers libflatbuffers-dev)
set(skiff_licence_volk libvulkan-volk-dev)
foreach(name flatbuffers volk)
  set(licence /usr/share/doc/${skiff_licence_${name}}/copyright)
  if(EXISTS ${licence})
    install(FILES ${licence} DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME LICENSE.${name})
  endif()
endforeach()

foreach(target skiff skiff-run)
  if(TARGET ${target})
    install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

configure_package_config_file(platforms/cmake/skiffConfig.cmake.in ${PROJECT_BINARY_DIR}/skiffConfig.cmake
                              INSTALL_DESTINATION ${skiff_package_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR skiff_library_dir skiff_shared_library)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/skiffConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/skiffConfig.cmake ${PROJECT_BINARY_DIR}/skiffConfigVersion.cmake
        DESTINATION ${skiff_package_dir})
