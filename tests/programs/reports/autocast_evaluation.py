"""Evaluation under autocast: each weight is cast to bfloat16 once, and the copy kept until the region ends."""
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.up(x)))


torch.manual_seed(0)
model = nn.Sequential(*(Block(512) for _ in range(8)))
with torch.no_grad():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = model(torch.randn(32, 512))
print(result.shape)
