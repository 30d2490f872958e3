"""A residual net that writes in place where possible: activations, dropout, additions."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start


class Residual(nn.Module):
    def __init__(self, channels=16):
        super().__init__()
        self.first, self.second = (nn.Conv2d(channels, channels, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = self.norm2(self.second(self.relu(self.norm1(self.first(x)))))
        y += x
        return self.relu(y)


start()
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.Hardswish(inplace=True), Residual(), nn.Conv2d(16, 16, 1), nn.SiLU(inplace=True),
                    Residual(), nn.AdaptiveAvgPool2d(2), nn.Dropout(0.1, inplace=True), nn.Flatten(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
for step in range(3):
    x, y = torch.randn(16, 3, 18, 18), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    scores = net(x.mul_(0.5))
    scores.sub_(scores.detach().amax(1, keepdim=True)).exp_()
    scores = scores / scores.sum(1, keepdim=True)
    loss = F.nll_loss(scores.add_(1e-8).log_(), y)
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
