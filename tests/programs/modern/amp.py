"""Autocast to bfloat16 with a GradScaler, gradients unscaled and clipped before the step."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2), nn.SiLU(),
                    nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(512, 128), nn.LayerNorm(128), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(3):
    x, y = torch.randn(16, 3, 24, 24), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16):
        loss = F.cross_entropy(net(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    show(step, loss)
print("scale", scaler.get_scale())
finish(net)
