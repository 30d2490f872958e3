"""Fifty steps of a regression, of which every output is remembered."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
history = []
for step in range(50):
    x = torch.randn(128, 64)
    prediction = model(x)
    loss = (prediction - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append((step, model(x)))
