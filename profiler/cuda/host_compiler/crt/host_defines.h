// CUDA 13 has crt/host_defines.h in a package of its compiler, which PyTorch does not install, and cuda_runtime_api.h
// includes it. The host's compiler ignores the words of CUDA C++. It finds this file if no package has one.
#pragma once

#define CUDARTAPI
#define CUDARTAPI_CDECL
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __align__(bytes)
#define __constant__
#define __cudart_builtin__
#define __device__
#define __device_builtin__
#define __device_builtin_surface_type__
#define __device_builtin_texture_type__
#define __forceinline__ inline __attribute__((always_inline))
#define __global__
#define __grid_constant__
#define __host__
#define __managed__
#define __no_return__ __attribute__((noreturn))
#define __nv_pure__
#define __shared__
#define __specialization_static
