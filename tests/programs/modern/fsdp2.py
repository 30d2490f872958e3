"""fsdp2.py [amp]: parameters are sharded over two ranks (fully_shard), each block and the whole."""

import contextlib
import sys

import torch
from torch import nn
from torch.distributed.fsdp import fully_shard

from blocks import Block
from common import digest, show
from ranks import launch


class Gated(nn.Module):
    def __init__(self, width=256):
        super().__init__()
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, width)
        self.w = nn.Parameter(torch.randn(width, width) / 16)

    def forward(self, x):
        return x + self.b(torch.sigmoid(self.a(x)) * self.w)


def train(rank):
    amp = "amp" in sys.argv
    net = nn.Sequential(*(Block(dropout=0.0) if amp else Gated() for _ in range(3)))
    for block in net:
        fully_shard(block)
    fully_shard(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(rank)
    for step in range(3):
        x = torch.randn(*((8, 32, 64) if amp else (256, 256)), generator=source)
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16) if amp else contextlib.nullcontext():
            loss = (net(x) - x.roll(1, 1)).square().mean()
        loss.backward()
        optimizer.step()
        if rank == 0:
            show(step, loss)
    whole = digest(net.parameters())
    if rank == 0:
        print("parameters", whole)


if __name__ == "__main__":
    launch(train)
