// CUDA 13 has crt/host_config.h in a package of its compiler, which PyTorch does not install. It checks the version of
// the host's compiler, and cuda_runtime.h includes it. The compiler finds this file if no package has one.
#pragma once
