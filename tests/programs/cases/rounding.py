"""A model that multiplies its weights with a broadcast batch. Only `expanded-save` changes the order of sums.

    rounding.py [dtype of autocast]
"""

import sys

import torch
from torch import nn


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.Parameter(torch.randn(6, 128, 64) / 11)
        self.embed = nn.Linear(96, 128)
        self.norm = nn.LayerNorm(64)
        self.out = nn.Linear(64, 10)

    def forward(self, x):
        x = nn.functional.dropout(torch.tanh(self.embed(x)), 0.1)
        x = torch.matmul(x.unsqueeze(1), self.heads)  # (batch, 1, tokens, 128) with (6, 128, 64)
        return self.out(nn.functional.gelu(self.norm(x)).mean((1, 2)))


torch.manual_seed(0)
model = Mixed()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
inputs, targets = torch.randn(16, 64, 96), torch.randint(0, 10, (16,))
for _ in range(3):
    with torch.autocast("cpu", getattr(torch, sys.argv[1]) if sys.argv[1:] else torch.bfloat16, enabled=len(sys.argv) > 1):
        loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"loss {loss.item()!r}")
