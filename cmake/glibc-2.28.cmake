# Compiles with the libraries of scripts/sysroot, for systems from glibc 2.28 and GCC 8 on: scripts/wheel.
# TAPELENS_SYSROOT: the folder that scripts/sysroot prints. Programs of the build run on this machine.
set(TAPELENS_SYSROOT "" CACHE PATH "The folder that scripts/sysroot prints")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAPELENS_SYSROOT)
set(CMAKE_SYSROOT "${TAPELENS_SYSROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_LIBRARY_ARCHITECTURE x86_64-linux-gnu)
set(CMAKE_CXX_FLAGS_INIT "-isystem ${TAPELENS_SYSROOT}/c++/include")
# -B: GCC otherwise searches its own folder for the start files and libc first. Symbols from the newer libstdc++ stay inside of
# each file. Functions that are in glibc's one library from 2.34 on are in several here.
foreach(_kind EXE SHARED MODULE)
  set(CMAKE_${_kind}_LINKER_FLAGS_INIT "-B${TAPELENS_SYSROOT}/usr/lib/x86_64-linux-gnu/ -L${TAPELENS_SYSROOT}/c++ -Wl,--exclude-libs,libstdc++_newer.a")
endforeach()
# Qt is this machine's: the window runs with that of PySide6, and its own symbols of a newer glibc do not matter.
string(APPEND CMAKE_EXE_LINKER_FLAGS_INIT " -Wl,--allow-shlib-undefined")
set(CMAKE_C_STANDARD_LIBRARIES_INIT "-Wl,--as-needed -lm -lpthread -ldl")
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "-Wl,--as-needed -lm -lpthread -ldl")
set(CMAKE_BUILD_RPATH "${TAPELENS_SYSROOT}/bundled")
