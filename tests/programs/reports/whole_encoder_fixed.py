"""The program checkpoints each layer of the encoder."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
encoder = nn.Sequential(*[nn.Sequential(nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 64)) for _ in range(10)])
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)


def encoded(x):
    for layer in encoder:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


for step in range(3):
    loss = encoded(torch.randn(512, 64, requires_grad=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
