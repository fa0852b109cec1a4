# SPDX-License-Identifier: MIT OR Apache-2.0
# Builds for Linux on aarch64 with the distribution's cross compiler and runs the
# tests with qemu-user. tools/cross_sysroot aarch64 fetches the libraries that
# the tests need beside the C library; without it only the library builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(AXP_CROSS_TRIPLE aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${AXP_CROSS_TRIPLE}-gcc)
set(CMAKE_CXX_COMPILER ${AXP_CROSS_TRIPLE}-g++)

get_filename_component(AXP_CROSS_SYSROOT
  "${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-aarch64" ABSOLUTE)
set(AXP_CROSS_LIBDIR "${AXP_CROSS_SYSROOT}/usr/lib/${AXP_CROSS_TRIPLE}")

set(CMAKE_FIND_ROOT_PATH "${AXP_CROSS_SYSROOT}" /usr/${AXP_CROSS_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE ${AXP_CROSS_TRIPLE})
# Where a linker looks for what libaxprof.so needs: its own path is for loaders.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${AXP_CROSS_LIBDIR}")

# pkg-config must not answer for this machine.
set(ENV{PKG_CONFIG_PATH} "")
set(ENV{PKG_CONFIG_LIBDIR} "${AXP_CROSS_LIBDIR}/pkgconfig")
set(ENV{PKG_CONFIG_SYSROOT_DIR} "${AXP_CROSS_SYSROOT}")

if(NOT CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL CMAKE_SYSTEM_PROCESSOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR
    qemu-aarch64 -L /usr/${AXP_CROSS_TRIPLE}
    -E LD_LIBRARY_PATH=${AXP_CROSS_LIBDIR})
endif()
