"""LBFGS with a closure and a line search."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
net = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 128), nn.Sigmoid(), nn.Linear(128, 1))
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4, history_size=5, line_search_fn="strong_wolfe")
x = torch.randn(256, 32)
y = x.square().sum(1, keepdim=True).sqrt()


def closure():
    optimizer.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    return loss


for step in range(3):
    show(step, optimizer.step(closure))
finish(net)
