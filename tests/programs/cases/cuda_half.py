"""Allocates half of the GPU, and one GiB outside of PyTorch. Adds the driver's count of memory in use to the counts of
cuda_stats.py: `before` (CUDA's context and other processes, without this program's first segment) and `used` (at the
highest use)."""

import ctypes
import time

import torch

import cuda_stats


def in_use():
    free, total = torch.cuda.mem_get_info()
    return total - free


cuda_stats.begin()
one = torch.zeros(1, device="cuda")
torch.cuda.synchronize()
before = in_use() - torch.cuda.memory_reserved()
weight = torch.randn(1024, 1024, device="cuda", requires_grad=True)
images = torch.randn(8, 3, 64, 64, device="cuda")
torch.nn.functional.conv2d(images, torch.randn(8, 3, 3, 3, device="cuda", requires_grad=True)).sum().backward()
(weight @ weight).sum().backward()
torch.cuda.synchronize()
runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}")
taken = ctypes.c_void_p()
assert runtime.cudaMalloc(ctypes.byref(taken), ctypes.c_size_t(1 << 30)) == 0
piece = torch.cuda.get_device_properties(0).total_memory // 32
kept = [torch.zeros(piece, dtype=torch.uint8, device="cuda") for _ in range(16)]
torch.cuda.synchronize()
used = in_use()
for _ in range(10):  # CUPTI delivers its records every fifth of a second, and none if a process ends by os._exit
    time.sleep(0.1)
    torch.zeros(1, device="cuda")
cuda_stats.end(before=before, used=used)
