"""Threads that allocate, free and save at the same time, each a known number of times. usage: threads.py THREADS N"""

import sys
import threading

import torch

torch.set_num_threads(1)
THREADS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
weights = [torch.ones(16, requires_grad=True) for _ in range(THREADS)]
others = [torch.ones(16) for _ in range(THREADS)]
ready = threading.Barrier(THREADS)


def work(weight, other):
    ready.wait()
    kept = []
    for _ in range(ROUNDS):
        kept.append(weight * other)  # one allocation, one save: `other`
        if len(kept) == 100:
            kept.clear()


with torch.profiler.record_function("all threads"):
    threads = [threading.Thread(target=work, args=pair) for pair in zip(weights, others)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
