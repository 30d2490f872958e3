"""recomputable-save: activations that a cheap operator recomputes from tensors that are held for another reason."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cases import main, negative, positive


def directly(function, *inputs):
    return function(*inputs)


def again(function, *inputs):
    """The backward recomputes the function's saves."""
    return checkpoint(function, *inputs, use_reentrant=False)


def trained(model, x, steps=2):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


class Mlp(nn.Module):
    def __init__(self, run, activation):
        super().__init__()
        self.up, self.down, self.run, self.activation = nn.Linear(128, 512), nn.Linear(512, 128), run, activation

    def forward(self, x):
        return self.run(lambda hidden: self.down(self.activation(hidden)), self.up(x))


def mlps(run, activation=F.gelu):
    torch.manual_seed(0)
    trained(Stack(Mlp(run, activation) for _ in range(4)), torch.randn(1024, 128))


def fixed_gelu():
    mlps(again)


@positive(bytes=4 * 2097152, occurrences=8, severity="info", fixed="fixed_gelu")
def gelu_between_layers():
    mlps(directly)


@negative
def relu_between_layers():
    """ReLU keeps its result, not its input, so the result cannot be recomputed."""
    mlps(directly, F.relu)


class Residual(nn.Module):
    def __init__(self, run):
        super().__init__()
        self.norm, self.layer, self.run = nn.LayerNorm(512), nn.Linear(512, 512), run

    def forward(self, x):
        return x + self.run(lambda x: self.layer(self.norm(x)), x)


def residuals(run):
    torch.manual_seed(0)
    trained(Stack(Residual(run) for _ in range(4)), torch.randn(1024, 512))


def fixed_norm():
    residuals(again)


@positive(bytes=4 * 2097152, occurrences=8, severity="info", fixed="fixed_norm")
def norm_before_a_layer():
    residuals(directly)


class Convolutions(nn.Module):
    def __init__(self, run, channels):
        super().__init__()
        self.norm, self.conv, self.run = nn.BatchNorm2d(channels), nn.Conv2d(channels, channels, 3, padding=1), run

    def forward(self, x):
        return self.run(lambda x: self.conv(torch.relu(self.norm(x))), x)


def convolutions(run):
    torch.manual_seed(0)
    trained(nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), *[Convolutions(run, 16) for _ in range(4)]),
            torch.randn(4, 3, 64, 64))


def fixed_convolutions():
    convolutions(again)


# ReLU of a batch normalisation, two operators after the normalisation's saves.
@positive(bytes=4 * 1048576, occurrences=8, severity="info", fixed="fixed_convolutions")
def relu_of_batch_norm():
    convolutions(directly)


@negative
def made_of_what_changes():
    """The state that the saved tensors are made from has changed by the time of the backward."""
    torch.manual_seed(0)
    layer, state = nn.Linear(512, 16), torch.randn(1024, 512)
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        loss = layer(state * 2).square().mean()
        state.add_(1)
        loss.backward()
        optimizer.step()


@negative
def noise():
    """Random numbers are not recomputed."""
    torch.manual_seed(0)
    layer = nn.Linear(512, 16)
    trained(nn.Sequential(layer), torch.randn(1024, 512))
    layer(torch.zeros(1024, 512).normal_()).square().mean().backward()


if __name__ == "__main__":
    main()
