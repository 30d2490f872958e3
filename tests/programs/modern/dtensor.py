"""Tensor parallelism: the two layers of each block are split over two ranks by columns and by rows."""

import torch
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

from common import digest, show
from ranks import WORLD, launch


class Mlp(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def train(rank):
    mesh = init_device_mesh("cpu", (WORLD,))
    net = nn.Sequential(Mlp(), Mlp())
    for block in net:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(7)
    for step in range(3):
        x = torch.randn(64, 128, generator=source)
        optimizer.zero_grad()
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
