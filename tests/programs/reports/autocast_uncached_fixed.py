"""The program applies a layer repeatedly, each time in a separate autocast region, whose end clears the cache."""
import torch
from torch import nn

torch.manual_seed(0)
stem, layer, x = nn.Linear(16, 1024), nn.Linear(1024, 1024), torch.randn(64, 16)
optimizer = torch.optim.SGD([*stem.parameters(), *layer.parameters()], lr=0.01)
for _ in range(3):
    h = stem(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for _ in range(6):
            h = torch.tanh(layer(h))
    h.float().square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
