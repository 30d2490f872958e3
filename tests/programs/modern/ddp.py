"""DistributedDataParallel on two ranks: torchrun --nproc-per-node 2 ddp.py, or ddp.py alone for mp.spawn."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from blocks import Block, data
from common import finish, show
from ranks import launch


def train(rank):
    net = DistributedDataParallel(nn.Sequential(Block(dropout=0.0), Block(dropout=0.0)), gradient_as_bucket_view=True)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(rank)
    for step in range(3):
        x = data(8, source)
        optimizer.zero_grad()
        loss = (net(x) - x.roll(1, 1)).square().mean()
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            show(step, mean / 2)
    if rank == 0:
        finish(net)


if __name__ == "__main__":
    launch(train)
