include(TextHeader)

# tapelens_library(NAME sources... [LINK libraries...] [PRIVATE libraries...]): one static library a folder,
# with the project's warnings, the repository as include root.
# Warnings are errors in the presets and the scripts (CMAKE_COMPILE_WARNING_AS_ERROR). Other builds, such as packages,
# may use compilers with warnings that this project has not seen.
add_library(tapelens_options INTERFACE)
# GCC 12 reports overlaps in std::string that do not exist (PR 105651).
target_compile_options(tapelens_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds>
                       $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fsized-deallocation>) # GCC has it by default
if(CMAKE_UNITY_BUILD)
  # Local names may hide names of other files in a unity build. The preset dev compiles each file separately and has this
  # warning.
  target_compile_options(tapelens_options INTERFACE -Wno-shadow -Wno-unused-function)
  # LibTorch's checks name the file that they are in.
  target_compile_options(tapelens_options INTERFACE -ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
endif()
if(TAPELENS_SANITIZE)
  # These two checks of UndefinedBehaviorSanitizer double the time to compile. AddressSanitizer also stops at a null
  # pointer, and x86 permits unaligned reads. The fuzzers use the checks, because their input comes from outside.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TAPELENS_SANITIZE STREQUAL "address,undefined")
    set(_left_out -fno-sanitize=null,alignment)
  endif()
  target_compile_options(tapelens_options INTERFACE -fsanitize=${TAPELENS_SANITIZE} -fno-omit-frame-pointer
                                                   -fno-sanitize-recover=all ${_left_out})
  target_link_options(tapelens_options INTERFACE -fsanitize=${TAPELENS_SANITIZE})
endif()

# tapelens_apart(files...): compiles these files separately in a unity build, because their local names occur in other
# files of the folder.
function(tapelens_apart)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

function(tapelens_library name)
  cmake_parse_arguments(ARG "" "" "LINK;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LINK} PRIVATE tapelens_options ${ARG_PRIVATE})
endfunction()
