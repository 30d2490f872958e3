"""uneven_ranks.py [fails]: two ranks under torchrun. The second one keeps 8 MiB more; with `fails`, it exits with 3."""

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

kept = []


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    net = DistributedDataParallel(nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256)))
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(3):
        if rank == 1 and step == 1:
            kept.append(torch.ones(2, 1024, 1024))
        optimizer.zero_grad()
        net(torch.ones(64, 256)).square().mean().backward()
        optimizer.step()
    dist.barrier()
    dist.destroy_process_group()
    if rank == 1 and "fails" in sys.argv:
        time.sleep(2)  # the launcher ends the other rank as soon as this one ended
        sys.exit(3)


main()
