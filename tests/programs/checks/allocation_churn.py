"""Loops that allocate temporaries, and loops that write in place."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

CELLS = 256 * 1024
FIELD = 4 * CELLS  # bytes


def train(between, count=2):
    torch.manual_seed(0)
    model = nn.Linear(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(count):
        between()
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(32, 64)), torch.randint(0, 10, (32,))).backward()
        optimizer.step()


@positive(bytes=FIELD, severity="info")
def diffusion():
    def smooth():
        field = torch.rand(CELLS)
        for _ in range(40):
            field = field + 0.1 * (field.roll(1) - field)
    train(smooth)


# Two sizes at one line.
@positive(bytes=FIELD + FIELD // 2, severity="info")
def two_sizes():
    def shrink():
        fields = [torch.rand(CELLS), torch.rand(CELLS // 2)]
        for _ in range(80):
            fields = [field.mul(0.5).add(1) for field in fields]
    train(shrink)


# Gradients of the state, and of the weight.
@positive(bytes=4 * 256 * 512 + 4 * 512 * 512, severity="info")
def recurrent_backward():
    """A small cell, many times: the allocations of its backward."""
    torch.manual_seed(0)
    weight = nn.Parameter(torch.randn(512, 512) / 32)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for _ in range(2):
        state = torch.zeros(256, 512)
        for _ in range(80):
            state = torch.tanh(state @ weight)
        optimizer.zero_grad()
        state.sum().backward()
        optimizer.step()


@negative
def in_place():
    def smooth():
        field, moved = torch.rand(CELLS), torch.empty(CELLS)
        for _ in range(100):
            moved[1:].copy_(field[:-1])
            moved.sub_(field).mul_(0.1)
            field.add_(moved)
    train(smooth)


@negative
def small_temporaries():
    def smooth():
        field = torch.rand(1024)
        for _ in range(100):
            field = field + 0.1 * (field.roll(1) - field)
    train(smooth)


@negative
def layers():
    torch.manual_seed(0)
    model = nn.Sequential(*(layer for _ in range(12) for layer in (nn.Linear(256, 256), nn.ReLU())), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(256, 256)), torch.randint(0, 10, (256,))).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
