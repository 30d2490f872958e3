"""A transformer's blocks, for the programs that wrap them."""

import torch
from torch import nn
from torch.nn import functional as F

WIDTH, HEADS, TOKENS = 64, 4, 32


class Block(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.dropout(self.out(attended.transpose(1, 2).reshape(batch, tokens, WIDTH)))
        return x + self.dropout(self.down(F.gelu(self.up(self.norm2(x)))))


def data(batch=16, generator=None):
    return torch.randn(batch, TOKENS, WIDTH, generator=generator)
