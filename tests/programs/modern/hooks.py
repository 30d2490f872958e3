"""Hooks of every kind: of modules forward and backward, of tensors, of nodes, of several gradients, of retained ones."""

import torch
from torch import nn
from torch.autograd.graph import register_multi_grad_hook

from blocks import Block, data
from common import digest, finish, show, start

start()
net = nn.Sequential(Block(dropout=0.0), Block(dropout=0.0))
seen = []
net[0].register_forward_pre_hook(lambda _module, args: (args[0] * 1.5,))
net[0].register_forward_hook(lambda _module, _args, output: output.clamp(-3, 3))
net[1].register_full_backward_pre_hook(lambda _module, grads: (grads[0] * 2,))
net[1].register_full_backward_hook(lambda _module, grads, _outputs: (grads[0].clamp(-1, 1),))
net[1].up.weight.register_hook(lambda grad: grad * 0.5)
register_multi_grad_hook([net[0].up.weight, net[1].up.weight], lambda grads: seen.append(sum(g.norm() for g in grads)))
optimizer = torch.optim.NAdam(net.parameters(), lr=1e-3)
for step in range(3):
    x = data()
    optimizer.zero_grad()
    hidden = net[0](x)
    hidden.retain_grad()
    y = net[1](hidden)
    y.grad_fn.register_prehook(lambda grads: tuple(g * 3 for g in grads))
    loss = (y - x.roll(1, 1)).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
    print("gradient of hidden", digest([hidden.grad]))
print("norms", [float(norm) for norm in seen])
finish(net)
