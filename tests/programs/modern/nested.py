"""Nested tensors (jagged): attention over sentences of different lengths without padding."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
WIDTH, HEADS = 64, 4
embed, norm, out = nn.Embedding(100, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WIDTH)
projections = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(3))
optimizer = torch.optim.AdamW([p for m in (embed, norm, out, projections) for p in m.parameters()], lr=1e-3)
for step in range(3):
    sentences = [torch.randint(0, 100, (length,)) for length in (31, 17, 44, 8)]
    tokens = torch.nested.nested_tensor(sentences, layout=torch.jagged)
    optimizer.zero_grad()
    x = embed(tokens)
    q, k, v = (project(norm(x)).unflatten(-1, [HEADS, WIDTH // HEADS]).transpose(1, 2) for project in projections)
    attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(-2)
    y = F.gelu(out(attended)) + x
    loss = y.values().square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(embed, norm, out, projections)
