"""Vectors of many tags, few of which a batch has."""
import torch
from torch import nn

torch.manual_seed(0)
tags = nn.Embedding(200_000, 48)
score = nn.Linear(48, 1)
optimizer = torch.optim.SGD([*tags.parameters(), *score.parameters()], lr=0.1)
for step in range(3):
    batch = torch.randint(200_000, (64, 16))
    loss = score(tags(batch).mean(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
