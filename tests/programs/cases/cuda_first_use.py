"""Threads that begin to use CUDA at the same time. Chance decides which thread starts the recording of the allocator,
and how far the other threads are at that time. The first argument: `warm` (an operator ran on the CPU before), `cold`
(the threads run the first operators of the process) or `older` (blocks were allocated before any operator, and are
freed meanwhile)."""

import sys
import threading

import torch

import cuda_stats

MIB = 1 << 20


def main(how):
    cuda_stats.begin()
    torch.cuda.init()
    older = []
    if how == "warm":
        torch.ones(1)
    if how == "older":
        older = [(gpu, torch.cuda.caching_allocator_alloc(size, gpu)) for gpu in (0, 1) for size in (3 * MIB, 700, 30 * MIB)]
    together = threading.Barrier(4)
    kept = []

    def work(number):
        gpu = number % 2
        sizes = [500 + 13 * number, 5 * MIB + 7, 21 * MIB + number, 900]
        together.wait()
        if how == "older" and number >= 2:
            for of, address in older[:: 2]:
                if of == gpu:
                    torch.cuda.caching_allocator_delete(address)
        for size in sizes:
            kept.append(torch.empty(size, dtype=torch.uint8, device=f"cuda:{gpu}"))
            torch.empty(size * 2, dtype=torch.uint8, device=f"cuda:{gpu}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Larger than all earlier allocations, so that the peaks are now and not before the recording of the allocator.
    kept.append([torch.empty(200 * MIB + 1, dtype=torch.uint8, device=f"cuda:{gpu}") for gpu in (0, 1)])
    cuda_stats.end()


sys.setswitchinterval(1e-5)
main(sys.argv[1])
