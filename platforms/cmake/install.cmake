# Installs what an application links: headers, static libraries (ours and the kernels' under lib/skiff/), the shared
# library of the C API, the tools, the licences, and how to find them: a package file for find_package(skiff CONFIG), and
# one for pkg-config. The package file is written by hand rather than exported: the archives form one link group, and
# their build-tree dependencies mean nothing to an application.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(skiff_library_dir ${CMAKE_INSTALL_LIBDIR}/skiff)
set(skiff_shared_library ${CMAKE_INSTALL_LIBDIR}/libskiff.so.${PROJECT_VERSION})
set(skiff_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/skiff)

install(DIRECTORY runtime/include/skiff DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(FILES delegates/registry.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/skiff RENAME delegates.h)

set(skiff_archives)
foreach(target skiff_delegates skiff_delegate_vulkan skiff_delegate_xnnpack skiff_delegate_support skiff_runtime skiff_platform
               pthreadpool volk)
  if(TARGET ${target})
    install(TARGETS ${target} ARCHIVE DESTINATION ${skiff_library_dir})
    list(APPEND skiff_archives lib${target}.a)
  endif()
endforeach()
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
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

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
