# Compiles for aarch64 with Debian's cross compiler. With TAPELENS_AARCH64_DEBIAN, a folder with a Debian for arm64
# (scripts/debian-aarch64), everything can be built; without it only what is loaded into programs: scripts/try-aarch64.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_ASM_COMPILER aarch64-linux-gnu-gcc)
set(_system /usr/aarch64-linux-gnu)
if(DEFINED ENV{TAPELENS_AARCH64_DEBIAN})
  set(_system "$ENV{TAPELENS_AARCH64_DEBIAN}")
  set(CMAKE_SYSROOT "${_system}")
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(QT_HOST_PATH /usr) # moc and rcc run here
  set(QT_HOST_PATH_CMAKE_DIR /usr/lib/${CMAKE_HOST_SYSTEM_PROCESSOR}-linux-gnu/cmake)
endif()
# Runs programs of the build (tapelens_write_fits) on this machine.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L "${_system}")
# Python and headers without code (xxhash) are those of the build machine. Libraries are not.
set(CMAKE_FIND_ROOT_PATH "${_system}")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
