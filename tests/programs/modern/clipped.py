"""Gradients clipped by norm and by value, noise added to them, under schedules of the learning rate."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from common import finish, show, start

start()
net = nn.Sequential(nn.Linear(64, 256), nn.PReLU(), nn.RMSNorm(256), nn.Linear(256, 256), nn.Mish(), nn.Linear(256, 10))
optimizer = torch.optim.RAdam([{"params": net[:3].parameters(), "lr": 1e-3}, {"params": net[3:].parameters(), "lr": 1e-2}])
schedule = SequentialLR(optimizer, [LinearLR(optimizer, total_iters=2), CosineAnnealingLR(optimizer, 3)], [2])
for step in range(4):
    x, y = torch.randn(128, 64), torch.randint(0, 10, (128,))
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y, label_smoothing=0.1)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    nn.utils.clip_grad_value_(net.parameters(), 0.05)
    for p in net.parameters():
        p.grad.add_(torch.randn_like(p), alpha=1e-4)
    optimizer.step()
    schedule.step()
    show(step, loss)
    show(step, norm, "norm")
finish(net)
