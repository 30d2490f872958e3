"""Outputs collected over training for a plot, each with its graph."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
outputs = []
for _ in range(8):
    x = torch.randn(256, 64)
    output = model(x)
    loss = (output - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    outputs.append(output)  # bug
    # fixed: outputs.append(output.detach())
print(torch.cat(outputs).std().item() > 0)
