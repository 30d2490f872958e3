"""A program with a library that allocates device memory itself (cpp/outside_cuda.c, OUTSIDE_LIBRARY). At its end it
writes the library's own count to OUTSIDE_COUNTS, which shares no code with the recording.

The first argument selects a further activity of the program. `profiled`: torch.profiler begins half way."""

import ctypes
import json
import os
import pathlib
import random
import sys

import torch

MIB = 1 << 20
what = sys.argv[1] if len(sys.argv) > 1 else "plain"
library = ctypes.CDLL(os.environ["OUTSIDE_LIBRARY"])
for name in ("outside_take", "outside_take_pinned"):
    function = getattr(library, name)
    function.argtypes, function.restype = [ctypes.c_size_t], ctypes.c_void_p
library.outside_give_back.argtypes = [ctypes.c_void_p]

held, live, most, taken = [], 0, 0, 0
chosen = random.Random(7)


def take(size):
    global live, most, taken
    memory = library.outside_take(size)
    assert memory
    held.append((memory, size))
    live, taken = live + size, taken + 1
    most = max(most, live)


def give_back(which):
    global live
    memory, size = held.pop(which)
    assert library.outside_give_back(memory) == 0
    live -= size


def step(number):
    x = torch.randn(256, 1024 * (number % 5 + 1), device="cuda")
    return (x @ x.T).relu().sum()


step(0)
take(6 * MIB)
pinned = library.outside_take_pinned(3 * MIB)
for number in range(40):
    step(number)
    if held and chosen.random() < 0.4:
        give_back(chosen.randrange(len(held)))
    else:
        take(4096 * chosen.randrange(1, 2000))
    if number % 10 == 9:
        torch.cuda.empty_cache()
    if what == "profiled" and number == 20:
        before = {"live": live, "taken": taken}
        kinds = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=kinds) as profiler:
            step(number)
        print(len(profiler.key_averages()) > 0)

big = torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")  # PyTorch's peak, with the current allocations
at_peak = live
for _ in range(300):  # operators query the memory in use
    big[:1].add_(1)
free, total = torch.cuda.mem_get_info()
print("done")
if "OUTSIDE_COUNTS" in os.environ:
    counts = {"at_peak": at_peak, "most": most, "taken": taken, "pinned": 3 * MIB, "used": total - free}
    if what == "profiled":
        counts["before"] = before
    pathlib.Path(os.environ["OUTSIDE_COUNTS"]).write_text(json.dumps(counts), encoding="utf-8")
