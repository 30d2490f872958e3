"""Two ranks with gloo, from torchrun or from mp.spawn, for the programs that are distributed."""

import os
import tempfile

import torch.distributed as dist
import torch.multiprocessing as mp

from common import start

WORLD = 2


def child(rank, train, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD)
    run(train)


def run(train):
    start()
    train(dist.get_rank())
    dist.barrier()  # no rank leaves while the other still talks to it
    dist.destroy_process_group()


def launch(train):
    """Under torchrun, this process is a rank. Otherwise spawns the ranks, which get their number as an argument."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        dist.init_process_group("gloo")
        run(train)
        return
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(child, (train, os.path.join(folder, "store")), nprocs=WORLD)
