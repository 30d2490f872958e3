"""Other calls by which a library allocates device memory itself (cpp/outside_cuda.c), selected by the first argument:
`physical` (cuMemCreate), `pools` (cudaMallocAsync), `inside` (within operators, in a module and in a backward). At its
end it writes the library's own count to OUTSIDE_COUNTS, and CUDA's count for pools."""

import ctypes
import json
import os
import pathlib
import random
import sys

import torch

MIB = 1 << 20
library = ctypes.CDLL(os.environ["OUTSIDE_LIBRARY"])
POINTER, SIZE, LONG = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_ulonglong
for name, result, arguments in [
    ("outside_take", POINTER, [SIZE]), ("outside_take_physical", POINTER, [SIZE]),
    ("outside_give_back_physical", ctypes.c_int, [POINTER, SIZE]), ("outside_create", LONG, [SIZE]),
    ("outside_pool", POINTER, [ctypes.c_int]), ("outside_keep", ctypes.c_int, [POINTER, LONG]),
    ("outside_trim", ctypes.c_int, [POINTER, SIZE]), ("outside_destroy", ctypes.c_int, [POINTER]),
    ("outside_has", LONG, [POINTER, ctypes.c_int]), ("outside_take_from", POINTER, [POINTER, SIZE]),
    ("outside_give_back_async", ctypes.c_int, [POINTER]),
]:
    getattr(library, name).restype, getattr(library, name).argtypes = result, arguments

chosen = random.Random(11)
held, live, most, taken = [], 0, 0, 0


def count(bytes_more):
    global live, most, taken
    live += bytes_more
    taken += bytes_more > 0
    most = max(most, live)


def step(number):
    x = torch.randn(256, 1024 * (number % 5 + 1), device="cuda")
    return (x @ x.T).relu().sum()


def physical():
    step(0)
    for number in range(40):
        step(number)
        if held and chosen.random() < 0.4:
            memory, size = held.pop(chosen.randrange(len(held)))
            assert library.outside_give_back_physical(memory, size) == 0
            count(-size)
        else:
            size = 2 * MIB * chosen.randrange(1, 6)
            memory = library.outside_take_physical(size)
            assert memory
            held.append((memory, size))
            count(size)
        if number % 10 == 9:
            torch.cuda.empty_cache()
    assert library.outside_create(4 * MIB) != 0
    count(4 * MIB)
    return {}


def pools():
    step(0)
    both = [library.outside_pool(0), library.outside_pool(1)]
    assert all(both)
    for pool in both:
        assert library.outside_keep(pool, 96 * MIB) == 0
    for number in range(60):
        step(number)
        if held and chosen.random() < 0.4:
            memory, size = held.pop(chosen.randrange(len(held)))
            assert library.outside_give_back_async(memory) == 0
            count(-size)
        else:
            size = 512 * chosen.randrange(1, 40000)
            memory = library.outside_take_from(chosen.choice(both), size)
            assert memory
            held.append((memory, size))
            count(size)
        if number % 20 == 19:
            assert library.outside_trim(chosen.choice(both), 0) == 0
    assert library.outside_keep(both[0], 1 << 40) == 0
    while held[5:]:  # a pool's size follows from its allocations and frees
        memory, size = held.pop()
        assert library.outside_give_back_async(memory) == 0
        count(-size)
    assert library.outside_trim(both[1], 0) == 0
    return {"reserved": sum(library.outside_has(pool, 0) for pool in both), "handed_out": sum(library.outside_has(pool, 1) for pool in both)}


@torch.library.custom_op("outside::take", mutates_args=())
def take(x: torch.Tensor, size: int) -> torch.Tensor:
    assert library.outside_take(size)
    return x.clone()


@torch.library.custom_op("outside::create", mutates_args=())
def create(x: torch.Tensor, size: int) -> torch.Tensor:
    assert library.outside_take_physical(size)
    return x.clone()


class Taking(torch.nn.Module):
    def forward(self, x):
        return take(x, 3 * MIB)


def inside():
    step(0)
    assert library.outside_take(5 * MIB)  # in no operator
    count(5 * MIB)
    net = torch.nn.Sequential(torch.nn.ReLU(), Taking())
    net(torch.ones(4, device="cuda"))
    count(3 * MIB)
    create(torch.ones(4, device="cuda"), 8 * MIB)
    count(8 * MIB)
    return {}


more = {"physical": physical, "pools": pools, "inside": inside}[sys.argv[1]]()
big = torch.empty(512 * MIB, dtype=torch.uint8, device="cuda")  # PyTorch's peak, with the current allocations
for _ in range(300):  # operators query the memory in use
    big[:1].add_(1)
free, total = torch.cuda.mem_get_info()
print("done")
counts = {"at_peak": live, "most": most, "taken": taken, "used": total - free, **more}
pathlib.Path(os.environ["OUTSIDE_COUNTS"]).write_text(json.dumps(counts), encoding="utf-8")
