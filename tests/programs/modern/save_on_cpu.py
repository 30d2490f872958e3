"""Offloads saved tensors by save_on_cpu, and by custom hooks that pack them into half the bytes."""

import torch
from torch import nn
from torch.autograd.graph import save_on_cpu, saved_tensors_hooks

from blocks import Block, data
from common import finish, show, start


def pack(tensor):
    return tensor.bfloat16() if tensor.dtype == torch.float32 and not isinstance(tensor, nn.Parameter) else tensor


def unpack(packed):
    return packed.float() if packed.dtype == torch.bfloat16 else packed


start()
net = nn.ModuleList(Block() for _ in range(3))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
for step in range(3):
    x = data()
    target = x.roll(1, 1)
    optimizer.zero_grad()
    with save_on_cpu():
        x = net[0](x)
    x = net[1](x)
    with saved_tensors_hooks(pack, unpack):
        x = net[2](x)
    loss = (x - target).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
