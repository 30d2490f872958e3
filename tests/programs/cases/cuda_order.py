"""Detects which cached block of one size PyTorch's allocator reuses first: prints "age" for the block of the oldest
segment, "address" for the lowest one. The second CASE requests many blocks of few sizes, so that most requests have
several candidates."""

import random
import sys

import torch

import cuda_stats

MIB = 1 << 20


def block(bytes_=32 * MIB):
    return torch.empty(bytes_, dtype=torch.uint8, device="cuda")


def ordered():
    blocks = [block() for _ in range(3)]
    places = [b.data_ptr() for b in blocks]
    oldest, lowest = places[0], min(places)
    assert oldest != lowest, "segments lie in the order of their age: nothing is shown"
    del blocks
    taken = block().data_ptr()
    print({oldest: "age", lowest: "address"}.get(taken, "neither"))


def chosen():
    chance = random.Random(0)
    sizes = [700 * 1024, 3 * MIB, 12 * MIB, 32 * MIB]
    alive = []
    for step in range(600):
        while len(alive) > 24 or (alive and chance.random() < 0.45):
            alive.pop(chance.randrange(len(alive)))
        alive.append(block(chance.choice(sizes)))
        if step % 150 == 149:
            torch.cuda.empty_cache()


cuda_stats.begin()
ordered()
if "many" in sys.argv:
    chosen()
cuda_stats.end()
