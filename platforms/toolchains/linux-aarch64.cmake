# Debian's aarch64 cross compiler; tests run under user-mode emulation. SKIFF_SYSROOT names a folder with the libraries of such a
# system (platforms/python/emulated); without it there are those of the compiler alone.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)

set(skiff_target_root /usr/aarch64-linux-gnu)
if(SKIFF_SYSROOT)
  list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SKIFF_SYSROOT)
  set(CMAKE_SYSROOT ${SKIFF_SYSROOT})
  set(skiff_target_root ${SKIFF_SYSROOT})
  set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${SKIFF_SYSROOT})
  set(ENV{PKG_CONFIG_LIBDIR} ${SKIFF_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${SKIFF_SYSROOT}/usr/share/pkgconfig)
endif()
set(CMAKE_FIND_ROOT_PATH ${skiff_target_root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${skiff_target_root})
