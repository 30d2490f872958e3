"""Three steps of a model with ReLUs: their backward needs one bit of each element that they save."""

import torch
from torch import nn

model = nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(512, 512), nn.ReLU(), nn.Dropout(0.1))))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(512, 512)).square().mean()
    loss.backward()
    optimizer.step()
