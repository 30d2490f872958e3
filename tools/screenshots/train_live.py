"""A training whose loop keeps a tensor of each step: for the picture of a run that is followed."""

import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return x + nn.functional.gelu(self.linear(x))


net = nn.Sequential(*[Block(512) for _ in range(6)], nn.Linear(512, 10))
optimizer = torch.optim.AdamW(net.parameters())
history = []
for step in range(400):
    net(torch.randn(256, 512)).logsumexp(1).mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    history.append(torch.zeros(20_000))
    time.sleep(0.05)
