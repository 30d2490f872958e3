"""truths.py CASE: programs where it is known who holds each tensor at the peak. Every tensor has a size of its own,
so that the tests find it by its bytes; `spike` makes the peak fall where the case wants it."""

import sys

import torch
from torch import nn


def spike():
    """The peak is now: far larger than all else, never touched, freed at once."""
    torch.empty(256 << 20, dtype=torch.uint8)


def kept():
    """The program's own list is the only reference."""
    tensors = []
    for rows in (1001, 1002):
        tensors.append(torch.zeros(rows, 32))  # mark: kept
    spike()
    return tensors


def kept_and_saved():
    """The program has a name for each, and so has autograd: the saves hold them, the program is not to blame."""
    w = torch.ones(1011, 32, requires_grad=True)
    e = w.exp()  # mark: exp
    s = e.sigmoid()
    loss = (s * 2).sum()
    spike()
    loss.backward()
    return e, s


def saved_only():
    """Intermediate results that nobody but a node refers to."""
    w = torch.ones(1021, 32, requires_grad=True)
    loss = w.exp().sin().cos().sum()
    spike()
    loss.backward()


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(31, 1033)
        self.down = nn.Linear(1033, 7)
        self.register_buffer("table", torch.ones(1039, 3))

    def forward(self, x):
        return self.down(torch.tanh(self.up(x)))  # mark: forward


def roles(optimizer_class):
    def run():
        """Parameters, buffers, gradients and optimizer state of one net, after one step."""
        net = Mlp()
        optimizer = optimizer_class(net.parameters(), lr=1e-3)
        net(torch.ones(5, 31)).sum().backward()
        optimizer.step()
        spike()
        return net, optimizer
    return run


def in_flight():
    """The peak is inside a backward: gradients on their way belong to the backward and not to the program."""
    w = torch.ones(1051, 8, requires_grad=True)
    wide = w.exp().unsqueeze(0).repeat(64, 1, 1)
    loss = wide.square().mul(3).sin().sum()
    loss.backward()


class Spiky(torch.autograd.Function):
    """The identity, with the peak in its backward."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        spike()
        return grad


def branches():
    """Two branches from one result; of all this the caller keeps the loss alone."""
    w = torch.ones(1061, 8, requires_grad=True)
    x = w * 1
    waits = x.exp().tan()
    return Spiky.apply(x.sigmoid()).sum() + (waits * waits).sum()


def branch_in_flight():
    """While one branch's backward is at the peak, the other branch's gradient waits in the engine."""
    branches().backward()


def after_backward():
    """The graph is alive as the program holds the loss, but its saves are released: nothing large is left."""
    w = torch.ones(1071, 32, requires_grad=True)
    loss = w.exp().sin().sum()
    loss.backward()
    spike()
    return loss


def retained():
    """retain_graph keeps the saves for a second backward."""
    w = torch.ones(1081, 32, requires_grad=True)
    loss = w.exp().sin().sum()
    loss.backward(retain_graph=True)
    spike()
    loss.backward()


def view_kept():
    """One row of a large tensor keeps all of it: the storage has no save and only the program's view."""
    row = torch.zeros(1091, 32)[5]
    spike()
    return row


CASES = {"kept": kept, "kept_and_saved": kept_and_saved, "saved_only": saved_only, "adam": roles(torch.optim.Adam),
         "sgd": roles(torch.optim.SGD), "in_flight": in_flight, "branch_in_flight": branch_in_flight,
         "after_backward": after_backward, "retained": retained, "view_kept": view_kept}


def main():
    torch.set_num_threads(1)
    CASES[sys.argv[1]]()


main()
