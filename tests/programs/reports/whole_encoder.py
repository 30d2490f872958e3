"""The program checkpoints the encoder as a whole."""
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
encoder = nn.Sequential(*[nn.Sequential(nn.Linear(64, 1024), nn.GELU(), nn.Linear(1024, 64)) for _ in range(10)])
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.1)


def encoded(x):
    return checkpoint(encoder, x, use_reentrant=False)


for step in range(3):
    loss = encoded(torch.randn(512, 64, requires_grad=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))
