"""checkpointed.py reentrant|nonreentrant: each block of a transformer is checkpointed; random numbers are kept."""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from blocks import Block, data
from common import finish, show, start

start()
reentrant = sys.argv[1] == "reentrant"
net = nn.ModuleList(Block() for _ in range(3))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x = data().requires_grad_(reentrant)  # a reentrant checkpoint needs an input that needs a gradient
    target = x.detach().roll(1, 1)
    optimizer.zero_grad()
    for block in net:
        x = checkpoint(block, x, use_reentrant=reentrant)
    loss = (x - target).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
