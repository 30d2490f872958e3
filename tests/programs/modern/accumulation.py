"""Gradients of four small batches are added up before each step."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
net = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 512), nn.Tanh(), nn.Linear(512, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    total = 0.0
    for _ in range(4):
        x, y = torch.randn(64, 128), torch.randint(0, 10, (64,))
        loss = F.cross_entropy(net(x), y) / 4
        loss.backward()
        total += loss.item()
    optimizer.step()
    optimizer.zero_grad()
    show(step, total)
finish(net)
