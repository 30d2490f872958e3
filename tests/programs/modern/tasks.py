"""Two asyncio tasks train in turns: forward, backward and step of one lie between those of the other."""

import asyncio

import torch
from torch import nn

from common import finish, show, start


async def train(name, width):
    net = nn.Sequential(nn.Linear(64, width), nn.Softplus(), nn.Linear(width, 64))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    source = torch.Generator().manual_seed(width)
    for step in range(4):
        x = torch.randn(128, 64, generator=source)
        optimizer.zero_grad()
        loss = (net(x) - x).square().mean()
        await asyncio.sleep(0)
        loss.backward()
        await asyncio.sleep(0)
        optimizer.step()
        show(step, loss, f"loss of {name}")
        await asyncio.sleep(0)
    return net


async def main():
    finish(*await asyncio.gather(train("first", 192), train("second", 320)))


start()
asyncio.run(main())
