"""Attempts fail after the forward. The kept exceptions keep the graphs alive during the next attempt."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 1024), nn.Tanh(), nn.Linear(1024, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
failures = []


def attempt(batch, limit):
    output = model(batch)
    if output.detach().abs().max().item() > limit:
        raise ValueError(f"{limit} is exceeded")
    optimizer.zero_grad()
    output.square().mean().backward()
    optimizer.step()


for limit in (0.01, 0.02, 0.03, 100.0, 100.0):
    try:
        attempt(torch.randn(1024, 128), limit)
    except ValueError as error:
        failures.append(error)
print([str(error) for error in failures])
