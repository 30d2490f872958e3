"""A custom torch.autograd.Function, and activation checkpointing around half of the layers."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from common import parse, pick, show


class Swish(torch.autograd.Function):
    """x * sigmoid(x) that saves its input only, and is differentiable twice."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


class ClampedScale(torch.autograd.Function):
    """Saves an input, an output and a new tensor, and returns two outputs."""

    @staticmethod
    def forward(ctx, x, scale):
        mask = (x.abs() < 3).to(x.dtype)
        y = x.clamp(-3, 3) * scale
        ctx.save_for_backward(x, y, scale, mask)
        ctx.mark_non_differentiable(mask)
        return y, mask

    @staticmethod
    def backward(ctx, grad, _):
        x, _, scale, mask = ctx.saved_tensors
        return grad * scale * mask, (grad * x.clamp(-3, 3)).sum().reshape_as(scale)


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        y, _ = ClampedScale.apply(self.linear(x), self.scale)
        return x + Swish.apply(y)


class Net(nn.Module):
    def __init__(self, width, layers, checkpointed):
        super().__init__()
        self.layers = nn.ModuleList(Layer(width) for _ in range(layers))
        self.checkpointed = checkpointed

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            if self.checkpointed and index % 2:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x)
        return x


def main():
    args = parse(__doc__, no_checkpoint=False)
    width, layers, batch = pick(args.size, (32, 4, 16), (256, 8, 128), (1024, 16, 512))
    model = Net(width, layers, not args.no_checkpoint)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-2)
    for step in range(args.steps):
        x = torch.randn(batch, width)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x.roll(1, dims=1))
        loss.backward()
        optimizer.step()
        show(step, loss)


if __name__ == "__main__":
    main()
