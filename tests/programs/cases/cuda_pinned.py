"""Pinned memory in all ways that programs allocate it (`mixed`), or in one size alone (`one_size`). PyTorch's own peak
is the sum of the peaks of all sizes, so it is exact for one size. The allocator rounds to powers of two and counts
rounded sizes, so all sizes here are powers of two. Adds torch.cuda.host_memory_stats() to the counts of
cuda_stats.py."""

import sys
import threading

import torch

import cuda_stats

MIB = 1 << 20


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((MIB,), float(index))


def by_a_function():
    return torch.empty(8 * MIB, dtype=torch.uint8, pin_memory=True)


def copied(out):
    out.append(torch.zeros(2 * MIB, dtype=torch.uint8).pin_memory())


def mixed():
    kept = [by_a_function()]
    for batch in torch.utils.data.DataLoader(Numbers(), batch_size=2, pin_memory=True):
        batch.to("cuda", non_blocking=True).sum()
    kept.append(batch)  # the last freed block stays active until PyTorch polls the end of the copy
    copies = []
    for _ in range(2):
        thread = threading.Thread(target=copied, args=(copies,))
        thread.start()
        thread.join()
    kept.append(copies.pop()[:MIB])  # a view keeps the whole block
    kept.append(torch.UntypedStorage(4 * MIB).pin_memory())
    kept.append(torch.ones(MIB, device="cuda").to("cpu", non_blocking=True))  # PyTorch allocates pinned memory for it
    kept.append(torch.empty(3 * MIB + 5, dtype=torch.uint8))  # not pinned
    return kept


def one_size():
    kept = {}
    for number in range(100):
        kept[number * number % 7] = by_a_function()
        if number % 10 == 9:
            kept.popitem()
    return kept


cuda_stats.begin()
alive = {"mixed": mixed, "one_size": one_size}[sys.argv[1]]()
torch.cuda.synchronize()
cuda_stats.end(host=torch.cuda.host_memory_stats())
