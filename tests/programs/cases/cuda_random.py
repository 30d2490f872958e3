"""Random requests of PyTorch's allocator: all kinds of sizes, streams, blocks that another stream uses, pools, and
occasional empty_cache(). The command line has the seed, the number of requests, and the limit of live MiB."""

import random
import sys

import torch

import cuda_stats

MIB = 1 << 20


def size_of(choose):
    kind = choose.random()
    if kind < 0.4:
        return choose.randrange(1, MIB)
    if kind < 0.8:
        return int(MIB * 2 ** choose.uniform(0, 5))
    return choose.choice((2, 10, 11, 20, 21, 64)) * MIB + choose.choice((-513, -1, 0, 1, 700000))


def main(seed, requests, most):
    choose = random.Random(seed)
    cuda_stats.begin()
    streams = [torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()]
    pool, in_pool, kept, alive = torch.cuda.MemPool(), [], [], 0
    for _ in range(requests):
        size = size_of(choose)
        alive += size
        while alive > most * MIB:
            gone = kept.pop(choose.randrange(len(kept)))
            alive -= gone.numel()
            if choose.random() < 0.1:
                gone.record_stream(choose.choice(streams))
            del gone
        with torch.cuda.stream(streams[0] if choose.random() < 0.7 else choose.choice(streams)):
            kept.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        event = choose.random()
        if event < 0.004:
            torch.cuda.empty_cache()
        elif event < 0.02:
            with torch.cuda.use_mem_pool(pool):
                in_pool.append(torch.empty(size_of(choose), dtype=torch.uint8, device="cuda"))
        elif event < 0.03:
            in_pool.clear()
        elif event < 0.05:
            torch.cuda.synchronize()
    cuda_stats.end(segments=torch.cuda.memory._snapshot()["segments"])


main(*map(int, sys.argv[1:]))
