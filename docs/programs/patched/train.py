"""A small net whose evaluations keep their graphs."""

import torch
from torch import nn


def evaluate(net, x):
    return net(x).mean()


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
evaluations = []
for step in range(3):
    loss = net(torch.randn(256, 256)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    evaluations.append(evaluate(net, torch.randn(256, 256)))
print(f"{len(evaluations)} evaluations")
