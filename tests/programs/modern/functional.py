"""torch.func: gradients of each sample (vmap of grad), an ensemble as one call, a Jacobian in the loss."""

import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, stack_module_state, vmap

from common import digest, finish, show, start

start()
net = nn.Sequential(nn.Linear(32, 128), nn.Tanh(), nn.Linear(128, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)


def loss_of(weights, x, y):
    return (functional_call(net, weights, (x,)).squeeze(-1) - y).square().mean()


for step in range(3):
    x, y = torch.randn(64, 32), torch.randn(64)
    weights = {name: p.detach() for name, p in net.named_parameters()}
    each = vmap(grad(loss_of), (None, 0, 0))(weights, x, y)
    for name, p in net.named_parameters():  # clipped sample by sample, as differential privacy wants it
        flat = each[name].flatten(1)
        p.grad = (flat * (1 / flat.norm(dim=1, keepdim=True)).clamp(max=1)).mean(0).view_as(p)
    optimizer.step()
    show(step, loss_of(weights, x, y))
    optimizer.zero_grad()
    jacobian = vmap(jacrev(lambda one: net(one).sum()))(x)
    smooth = loss_of(dict(net.named_parameters()), x, y) + 0.1 * jacobian.square().mean()
    smooth.backward()
    optimizer.step()
    show(step, smooth, "smooth")

members = [nn.Linear(32, 4) for _ in range(5)]
stacked, _ = stack_module_state(members)
outputs = vmap(lambda weights, x: functional_call(members[0], weights, (x,)), (0, None))(stacked, torch.randn(64, 32))
gradients = torch.autograd.grad(outputs.square().mean(), list(stacked.values()))
print("ensemble", digest(gradients))
finish(net)
