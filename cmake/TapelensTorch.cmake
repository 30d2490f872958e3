# Finds the PyTorch package or LibTorch folder that the probe is built against, without find_package(Torch), which
# requires a CUDA toolkit for CUDA builds. Sets
#   tapelens_torch           imported target: headers, libtorch_cpu, libc10
#   TAPELENS_TORCH_VERSION   "2.15.0"
#   TAPELENS_TORCH_MINOR     "2.15", the name of the probe
#   TAPELENS_TORCH_ROOT      the folder that holds include/ and lib/
#   TAPELENS_TORCH_PYTHON    the interpreter beside a package in a virtual environment, else empty
include(TorchVersions)

set(_minors "")
foreach(_release IN LISTS TAPELENS_TORCH_PROBES TAPELENS_TORCH_RELEASES)
  string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" TAPELENS_TORCH_DEFAULT "${_release}")
  string(REGEX MATCH "^[0-9]+\\.[0-9]+" _minor "${_release}")
  list(APPEND _minors ${_minor})
endforeach()
list(SORT _minors COMPARE NATURAL)
list(JOIN _minors ", " _minors_text)

# The package: TAPELENS_TORCH_DIR, or the virtual environment that scripts/setup made.
set(TAPELENS_TORCH_ROOT "${TAPELENS_TORCH_DIR}")
if(NOT TAPELENS_TORCH_ROOT)
  set(_venv "${CMAKE_SOURCE_DIR}/.venv")
  if(DEFINED ENV{TAPELENS_TORCH} AND NOT "$ENV{TAPELENS_TORCH}" STREQUAL ""
     AND NOT "$ENV{TAPELENS_TORCH}" STREQUAL "${TAPELENS_TORCH_DEFAULT}")
    string(APPEND _venv "-$ENV{TAPELENS_TORCH}")
  endif()
  file(GLOB _found "${_venv}/lib/python3*/site-packages/torch")
  if(NOT _found)
    message(FATAL_ERROR "No PyTorch in ${_venv}. Run scripts/setup, or point -DTAPELENS_TORCH_DIR= at a PyTorch package "
                        "(site-packages/torch) or a LibTorch folder, or build without LibTorch: cmake --preset analyzer.")
  endif()
  list(GET _found 0 TAPELENS_TORCH_ROOT)
  # Kept in the cache, so that CMake run again by the build without TAPELENS_TORCH in its environment finds the same one.
  set(TAPELENS_TORCH_DIR "${TAPELENS_TORCH_ROOT}" CACHE PATH "A PyTorch package (site-packages/torch) or LibTorch folder"
      FORCE)
endif()
get_filename_component(TAPELENS_TORCH_ROOT "${TAPELENS_TORCH_ROOT}" ABSOLUTE)

# The version, from the headers: they are what the probe's layout comes from.
set(_header "")
foreach(_path torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
  if(NOT _header AND EXISTS "${TAPELENS_TORCH_ROOT}/include/${_path}")
    file(STRINGS "${TAPELENS_TORCH_ROOT}/include/${_path}" _lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) ")
    if(_lines)
      set(_header "${_path}")
    endif()
  endif()
endforeach()
if(NOT _header)
  message(FATAL_ERROR "${TAPELENS_TORCH_ROOT} is not a PyTorch package or a LibTorch folder: it has no "
                      "include/torch/headeronly/version.h. -DTAPELENS_TORCH_DIR= wants the folder that holds include/ and lib/.")
endif()
string(REGEX REPLACE ".*VERSION_MAJOR ([0-9]+).*VERSION_MINOR ([0-9]+).*VERSION_PATCH ([0-9]+).*" "\\1.\\2.\\3"
       TAPELENS_TORCH_VERSION "${_lines}")
string(REGEX MATCH "^[0-9]+\\.[0-9]+" TAPELENS_TORCH_MINOR "${TAPELENS_TORCH_VERSION}")
if(NOT TAPELENS_TORCH_MINOR IN_LIST _minors)
  message(FATAL_ERROR "PyTorch ${TAPELENS_TORCH_VERSION} in ${TAPELENS_TORCH_ROOT} is not supported. Supported: "
                      "${_minors_text}. docs/supported-versions.md says how to add a minor.")
endif()

# The C++ ABI of the package; 1 for everything on PyPI since 2.6.
set(_abi 1)
if(EXISTS "${TAPELENS_TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake")
  file(STRINGS "${TAPELENS_TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake" _lines REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  if(_lines MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
    set(_abi 0)
  endif()
endif()

foreach(_library torch_cpu c10)
  if(NOT EXISTS "${TAPELENS_TORCH_ROOT}/lib/lib${_library}.so")
    message(FATAL_ERROR "${TAPELENS_TORCH_ROOT}/lib/lib${_library}.so is missing: the PyTorch package is not complete.")
  endif()
  add_library(tapelens_lib${_library} SHARED IMPORTED GLOBAL)
  set_target_properties(tapelens_lib${_library} PROPERTIES IMPORTED_LOCATION "${TAPELENS_TORCH_ROOT}/lib/lib${_library}.so")
endforeach()
add_library(tapelens_torch INTERFACE IMPORTED GLOBAL)
target_include_directories(tapelens_torch SYSTEM INTERFACE "${TAPELENS_TORCH_ROOT}/include"
                           "${TAPELENS_TORCH_ROOT}/include/torch/csrc/api/include")
# NDEBUG: without it inline code of the headers asserts on a field that the release library never sets.
target_compile_definitions(tapelens_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${_abi} NDEBUG)
# The CUDA libraries that libtorch needs are found by its own run path; the linker need not look for them.
target_link_options(tapelens_torch INTERFACE -Wl,--unresolved-symbols=ignore-in-shared-libs)
target_link_libraries(tapelens_torch INTERFACE tapelens_libtorch_cpu tapelens_libc10)

# The headers of PyTorch's CUDA version come with PyTorch, as separate packages, or else from a toolkit.
set(TAPELENS_CUDA_INCLUDE "")
foreach(_folder "${TAPELENS_TORCH_ROOT}/../nvidia/cu1*/include" "${TAPELENS_TORCH_ROOT}/../nvidia/cuda_runtime/include" "/usr/local/cuda/include")
  file(GLOB _found "${_folder}/cuda_runtime_api.h")
  if(_found AND NOT TAPELENS_CUDA_INCLUDE AND EXISTS "${TAPELENS_TORCH_ROOT}/include/c10/cuda/CUDACachingAllocator.h")
    list(GET _found 0 TAPELENS_CUDA_INCLUDE)
    get_filename_component(TAPELENS_CUDA_INCLUDE "${TAPELENS_CUDA_INCLUDE}" DIRECTORY)
  endif()
endforeach()
if(TAPELENS_CUDA_INCLUDE)
  list(APPEND TAPELENS_CUDA_INCLUDE ${PROJECT_SOURCE_DIR}/profiler/cuda/host_compiler) # the packages lack two headers
endif()

set(TAPELENS_TORCH_PYTHON "")
get_filename_component(_bin "${TAPELENS_TORCH_ROOT}/../../../../bin" ABSOLUTE)
if(EXISTS "${_bin}/python3")
  set(TAPELENS_TORCH_PYTHON "${_bin}/python3")
endif()
message(STATUS "PyTorch ${TAPELENS_TORCH_VERSION} in ${TAPELENS_TORCH_ROOT}")
