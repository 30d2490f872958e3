"""Attention as PyTorch offers it: scaled_dot_product_attention with each kind of mask, and flex_attention, uncompiled (on the
CPU it has no backward: it makes the target)."""

import warnings

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention

from common import finish, show, start

warnings.simplefilter("ignore")
start()
BATCH, HEADS, TOKENS, WIDTH = 4, 4, 48, 64
projections = nn.ModuleList(nn.Linear(WIDTH, 3 * WIDTH) for _ in range(4))
slopes = torch.rand(HEADS)
optimizer = torch.optim.AdamW(projections.parameters(), lr=1e-3)
mask = torch.rand(BATCH, 1, TOKENS, TOKENS) > 0.2


def split(projection, x):
    return projection(x).view(BATCH, TOKENS, 3, HEADS, -1).permute(2, 0, 3, 1, 4)


def join(x):
    return x.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH)


def by_distance(score, _batch, head, row, column):
    return score - slopes[head] * (row - column).abs()


for step in range(3):
    source = torch.randn(BATCH, TOKENS, WIDTH)
    with torch.no_grad():
        target = join(flex_attention(*split(projections[3], source), score_mod=by_distance))
    optimizer.zero_grad()
    x = source + join(F.scaled_dot_product_attention(*split(projections[0], source), is_causal=True))
    x = x + join(F.scaled_dot_product_attention(*split(projections[1], x), attn_mask=mask))
    with sdpa_kernel(SDPBackend.MATH):
        x = x + join(F.scaled_dot_product_attention(*split(projections[2], x), dropout_p=0.1))
    loss = (x - target).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(projections)
