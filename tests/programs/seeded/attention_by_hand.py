"""Self-attention written out, with its matrix of scores."""
import math

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // self.heads)  # bug
        # fixed: scale = 1 / math.sqrt(width // self.heads)
        y = torch.softmax(scores, -1) @ v  # bug
        # fixed: y = nn.functional.scaled_dot_product_attention(q, k, v, scale=scale)
        return x + self.out(y.transpose(1, 2).reshape(batch, length, width))


torch.manual_seed(0)
model = nn.Sequential(*(Attention() for _ in range(3)))
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = torch.randn(4, 256, 64)
    loss = (model(x) - x.flip(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
