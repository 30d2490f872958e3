"""wide-save: the backward needs one bit of each element of these tensors."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive


def pack(mask):
    """Eight elements in each byte."""
    weights = 2 ** torch.arange(8, dtype=torch.uint8)
    return (mask.view(-1, 8) * weights).sum(1, dtype=torch.uint8)


def unpack(packed, like):
    weights = 2 ** torch.arange(8, dtype=torch.uint8)
    return (packed[:, None] & weights).ne_(0).view(like.shape)


class BitRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.relu()
        ctx.save_for_backward(pack(y > 0))
        return y

    @staticmethod
    def backward(ctx, grad):
        return grad * unpack(ctx.saved_tensors[0], grad)


class BitDropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        keep = torch.empty_like(x).bernoulli_(1 - p)
        ctx.save_for_backward(pack(keep > 0))
        ctx.scale = 1 / (1 - p)
        return x * keep.mul_(ctx.scale)

    @staticmethod
    def backward(ctx, grad):
        return grad * unpack(ctx.saved_tensors[0], grad) * ctx.scale, None


class NarrowPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y, indices = F.max_pool2d(x, 2, return_indices=True)
        ctx.save_for_backward(x, indices.to(torch.int16))
        return y

    @staticmethod
    def backward(ctx, grad):
        x, indices = ctx.saved_tensors
        return torch.ops.aten.max_pool2d_with_indices_backward(grad, x, [2, 2], [2, 2], [0, 0], [1, 1], False,
                                                               indices.to(torch.int64))


def trained(model, x, steps=2):
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


class Frozen(nn.Module):
    """A trained embedding below frozen layers. The frozen layers save only their weights, not their inputs."""

    def __init__(self, activation, train_all=False):
        super().__init__()
        self.embed = nn.Linear(16, 256)
        self.layers = nn.ModuleList(nn.Linear(256, 256).requires_grad_(train_all) for _ in range(6))
        self.activation = activation

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = self.activation(layer(x))
        return x


def frozen(activation, train_all=False):
    torch.manual_seed(0)
    trained(Frozen(activation, train_all), torch.randn(2048, 16))


def fixed_relu():
    frozen(BitRelu.apply)


# Six results of 2 MiB, where a 32nd is enough. The loss's square keeps the last one as well.
@positive(bytes=5 * (2097152 - 65536), occurrences=10, severity="info", fixed="fixed_relu")
def relu_of_frozen_layers():
    frozen(F.relu)


# The input of a leaky ReLU, not its result: the loss reads none of them.
@positive(bytes=6 * (2097152 - 65536), occurrences=12, severity="info")
def leaky_relu_of_frozen_layers():
    frozen(F.leaky_relu)


@negative
def relu_of_trained_layers():
    """The next layer keeps the result for the gradient of its weight."""
    frozen(F.relu, train_all=True)


@negative
def gelu_of_frozen_layers():
    """GELU's gradient needs the values."""
    frozen(F.gelu)


def fixed_dropout():
    frozen(lambda x: BitDropout.apply(x, 0.25))


@positive(bytes=6 * (2097152 - 65536), occurrences=12, severity="info", fixed="fixed_dropout")
def dropout_noise():
    frozen(lambda x: F.dropout(x, 0.25))


@negative
def product_with_numbers():
    """A multiplication like that of dropout, with more than two distinct numbers."""
    frozen(lambda x: x * torch.rand_like(x))


def pooled(pool):
    torch.manual_seed(0)
    deeper = [layer for _ in range(4) for layer in (nn.Conv2d(32, 32, 3, padding=1), nn.Tanh())]
    trained(nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), pool, *deeper), torch.randn(8, 3, 64, 64))


class Pool(nn.Module):
    def forward(self, x):
        return NarrowPool.apply(x)


def fixed_pool():
    pooled(Pool())


# 8 x 32 x 32 x 32 indices into planes of 4096: 16 bits instead of 64.
@positive(bytes=262144 * 6, occurrences=2, severity="info", fixed="fixed_pool")
def indices_of_a_pool():
    pooled(nn.MaxPool2d(2))


@negative
def average_pool():
    pooled(nn.AvgPool2d(2))


if __name__ == "__main__":
    main()
