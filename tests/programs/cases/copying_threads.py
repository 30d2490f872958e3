"""Threads that copy at the same time, each a known number of times: three clones of each round are saved and never
changed. usage: copying_threads.py THREADS N"""

import sys
import threading

import torch

torch.set_num_threads(1)
THREADS, ROUNDS = int(sys.argv[1]), int(sys.argv[2])
ready = threading.Barrier(THREADS)


def collate(items):
    """Joins items to batches, as a loader's thread does."""
    return torch.stack([torch.cat([item, item]) for item in items])


def work(number):
    source = torch.arange(4096.0) + number
    weight = torch.ones(1024, requires_grad=True)
    buffer = torch.empty(1024)
    ready.wait()
    for _ in range(ROUNDS):
        first, again, other = source[:1024].clone(), source[:1024].clone(), source[1024:2048].clone()
        buffer.copy_(source[2048:3072])
        collate([source[i * 8:i * 8 + 8] for i in range(4)])
        (weight * first + weight * again + weight * other).sum().backward()


threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
