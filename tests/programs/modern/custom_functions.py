"""Custom autograd functions: one saves inputs and an output, one writes in place, one uses setup_context, one has a
differentiable backward."""

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from common import finish, show, start


class Swish(Function):
    @staticmethod
    def forward(ctx, x, slope):
        gate = torch.sigmoid(slope * x)
        y = x * gate
        ctx.save_for_backward(x, slope, gate, y)
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, slope, gate, y = ctx.saved_tensors
        shared = gate * (1 - gate) * x
        return grad * (gate + slope * shared), (grad * shared * x).sum().reshape(slope.shape) + 0 * y.sum()


class ClampInPlace(Function):
    @staticmethod
    def forward(ctx, x, low):
        ctx.mark_dirty(x)
        x.clamp_(min=low)
        ctx.save_for_backward(x)
        ctx.low = low
        return x

    @staticmethod
    def backward(ctx, grad):
        (y,) = ctx.saved_tensors
        return grad * (y > ctx.low), None


class Square(Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]


start()
first, second = nn.Linear(128, 256), nn.Linear(256, 64)
slope = nn.Parameter(torch.ones(1))
optimizer = torch.optim.SGD([*first.parameters(), *second.parameters(), slope], lr=0.01)
for step in range(4):
    x = torch.randn(128, 128, requires_grad=True)
    optimizer.zero_grad()
    hidden = Swish.apply(first(x), slope)
    hidden = ClampInPlace.apply(hidden * 2, -0.1)
    loss = Square.apply(second(hidden)).mean()
    (gradient,) = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    (loss + 1e-4 * gradient.square().mean()).backward()
    optimizer.step()
    show(step, loss)
finish(first, second, nn.ParameterList([slope]))
