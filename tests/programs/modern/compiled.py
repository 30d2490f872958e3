"""compiled.py BACKEND: a small net under torch.compile."""

import sys

import torch
from torch import nn

from common import finish, show, start

start()
net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64), nn.Sigmoid())
run = torch.compile(net, backend=sys.argv[1])
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x = torch.randn(128, 64)
    optimizer.zero_grad()
    loss = (run(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
