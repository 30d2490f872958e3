"""Weights that are computed: weight norm, an orthogonal map, a low-rank adapter over a frozen layer, a pruned layer."""

import torch
from torch import nn
from torch.nn.utils import parametrizations, parametrize, prune

from common import finish, show, start


class LowRank(nn.Module):
    def __init__(self, rows, columns, rank=4):
        super().__init__()
        self.down, self.up = nn.Parameter(torch.randn(rank, columns) / 8), nn.Parameter(torch.zeros(rows, rank))

    def forward(self, weight):
        return weight + self.up @ self.down


start()
adapted = nn.Linear(128, 128).requires_grad_(False)
parametrize.register_parametrization(adapted, "weight", LowRank(128, 128))
pruned = prune.l1_unstructured(nn.Linear(128, 128), "weight", amount=0.5)
net = nn.Sequential(parametrizations.weight_norm(nn.Linear(64, 128)), nn.ReLU(), adapted, nn.GELU(),
                    parametrizations.orthogonal(nn.Linear(128, 128)), nn.Tanh(), pruned, nn.Sigmoid(), nn.Linear(128, 64))
optimizer = torch.optim.Adam((p for p in net.parameters() if p.requires_grad), lr=1e-3, fused=True)
for step in range(3):
    x = torch.randn(128, 64)
    optimizer.zero_grad()
    with parametrize.cached():
        loss = (net(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
