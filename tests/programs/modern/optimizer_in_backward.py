"""Each parameter is stepped and its gradient released as soon as the backward has it."""

import torch
from torch import nn

from blocks import Block, data
from common import finish, show, start

start()
net = nn.Sequential(*(Block() for _ in range(3)))
optimizers = {p: torch.optim.Adam([p], lr=1e-3) for p in net.parameters()}


def step_now(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in net.parameters():
    p.register_post_accumulate_grad_hook(step_now)
for step in range(3):
    x = data()
    loss = (net(x) - x.roll(1, 1)).square().mean()
    loss.backward()
    show(step, loss)
assert all(p.grad is None for p in net.parameters())
finish(net)
