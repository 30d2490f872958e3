# Compilers run under ccache, where there is one, with settings that give the bytes that the compiler would give:
# - CCACHE_DEPEND: a result is found by the contents of all headers. By default ccache compares preprocessed text, which has
#   no comments. It then takes a precompiled header that was made from other comments, and GCC, which knows a header under
#   `#pragma once` by its bytes, includes the header again.
# - CCACHE_BASEDIR, cmake/ccache-launcher and, in TapelensTarget.cmake, -ffile-prefix-map: other checkouts find the results too.
# - pch_defines, time_macros: ccache wants these before it keeps precompiled headers. No header here uses __TIME__.
find_program(TAPELENS_CCACHE ccache)
if(TAPELENS_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      set(CMAKE_${language}_COMPILER_LAUNCHER
          ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_DEPEND=1
          CCACHE_SLOPPINESS=pch_defines,time_macros
          ${CMAKE_CURRENT_LIST_DIR}/ccache-launcher ${PROJECT_SOURCE_DIR} ${TAPELENS_CCACHE})
    endif()
  endforeach()
endif()
