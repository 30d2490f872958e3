"""Attention with dropout on the CPU, where only the math kernel has it."""
import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.qkv, self.out, self.dropout = nn.Linear(64, 192), nn.Linear(64, 64), dropout

    def forward(self, x):
        query, key, value = self.qkv(x).unflatten(-1, (3, 4, 16)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, dropout_p=self.dropout)
        return self.out(attended.transpose(1, 2).flatten(-2))


torch.manual_seed(0)
model = nn.Sequential(*(Attention(0.0) for _ in range(3)))
x = torch.randn(4, 256, 64)
for _ in range(3):
    model(x).square().mean().backward()
    model.zero_grad()
