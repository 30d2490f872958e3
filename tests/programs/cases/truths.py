"""truths.py CASE: programs with a known holder of each tensor at the peak. Every tensor has a different size, so that
the tests find it by its bytes; `spike` sets the time of the peak."""

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


def spike():
    """Makes the peak now: a tensor that is far larger than all others, never touched, and freed at once."""
    torch.empty(256 << 20, dtype=torch.uint8)


def kept():
    """The program's own list is the only reference."""
    tensors = []
    for rows in (1001, 1002):
        tensors.append(torch.zeros(rows, 32))  # mark: kept
    spike()
    return tensors


def kept_and_saved():
    """The program has a name for each tensor, and autograd saves each. The saves are the holders, not the program."""
    w = torch.ones(1011, 32, requires_grad=True)
    e = w.exp()  # mark: exp
    s = e.sigmoid()
    loss = (s * 2).sum()
    spike()
    loss.backward()
    return e, s


def saved_only():
    """Intermediate results with no reference except in a node."""
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
    """The peak is inside a backward. Intermediate gradients belong to the backward and not to the program."""
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
    """Two branches from one result. The caller keeps only the loss."""
    w = torch.ones(1061, 8, requires_grad=True)
    x = w * 1
    waits = x.exp().tan()
    return Spiky.apply(x.sigmoid()).sum() + (waits * waits).sum()


def branch_in_flight():
    """While one branch's backward is at the peak, the other branch's gradient waits in the engine."""
    branches().backward()


def after_backward():
    """The graph is alive because the program holds the loss. Its saves are released, so no large tensor is left."""
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
    """One row keeps the storage of a large tensor alive: the storage has no save, only the program's view."""
    row = torch.zeros(1091, 32)[5]
    spike()
    return row


class Block(nn.Module):
    """Its activation is used twice, and the peak is in its backward between the two."""

    def __init__(self):
        super().__init__()
        self.up = nn.Linear(31, 1033)
        self.down = nn.Linear(1033, 7)

    def forward(self, x):
        return self.down(Spiky.apply(torch.tanh(self.up(x))))  # mark: tanh


def checkpointed():
    """Checkpointing recomputes the block inside the backward of its last layer."""
    net = nn.Sequential(nn.Linear(31, 31), Block())
    checkpoint(net[1], net[0](torch.ones(1103, 31)), use_reentrant=False).sum().backward()


def nested_checkpoints():
    """A checkpoint in a checkpoint: hooks run in hooks."""
    net = nn.Sequential(nn.Linear(31, 31), Block())

    def outer(x):
        return checkpoint(net[1], net[0](x), use_reentrant=False)
    checkpoint(outer, torch.ones(1103, 31, requires_grad=True), use_reentrant=False).sum().backward()


def lbfgs():
    """The optimizer keeps its history in lists."""
    net = Mlp()
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.1, max_iter=4, history_size=3)
    x = torch.ones(5, 31)

    def closure():
        optimizer.zero_grad()
        loss = net(x).square().sum()
        loss.backward()
        return loss
    optimizer.step(closure)
    spike()
    return net, optimizer


class Factors(torch.optim.Optimizer):
    """Keeps tensors in containers, as Shampoo does."""

    def __init__(self, params):
        super().__init__(params, {})

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                rows = len(p) + 1
                state["factors"] = [torch.zeros(rows, 1201), (torch.zeros(rows, 1203), None, 3)]
                state["roots"] = {"left": {"inverse": torch.zeros(rows, 1207)}}


def nested_state():
    w = torch.ones(5, requires_grad=True)
    optimizer = Factors([w])
    for _ in range(3):
        (w * 2).sum().backward()
        optimizer.step()  # creates the factors again
    spike()
    return optimizer


def closure(at):
    """The peak is inside a step of an optimizer, in the forward or after the backward of its closure."""
    def run():
        net = Mlp()
        optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)

        def again():
            optimizer.zero_grad()
            if at == "before":
                spike()
            out = net(torch.ones(5, 31))
            if at == "forward":
                spike()
            loss = out.sum()
            loss.backward()
            if at == "after":
                spike()
            return loss
        for _ in range(3):
            optimizer.step(again)
    return run


def raises():
    """Operators that fail after they saved their inputs."""
    w, x = torch.ones(1301, 3, requires_grad=True), torch.ones(5, 7, requires_grad=True)
    for _ in range(2):
        try:
            w @ x
        except RuntimeError:
            pass
    (w * w).sum().backward()


def hooked():
    """Tensors that the program's hooks make in a backward: on a tensor, on a node, after a gradient was accumulated."""
    w, x, made = torch.ones(32, 32, requires_grad=True), torch.ones(5, 32, requires_grad=True), []

    def step(parameter):
        made.append(torch.zeros(1409, 32))  # mark: after_accumulation
        parameter.grad = None

    def of_tensor(gradient):
        made.append(torch.zeros(1423, 32))  # mark: on_tensor

    def before_node(gradients):
        made.append(torch.zeros(1427, 32))  # mark: before_node

    def after_node(inputs, outputs):
        made.append(torch.zeros(1429, 32))  # mark: after_node

    w.register_post_accumulate_grad_hook(step)
    hidden = x @ w
    hidden.register_hook(of_tensor)
    hidden.grad_fn.register_prehook(before_node)
    hidden.grad_fn.register_hook(after_node)
    (hidden + hidden.sin()).sum().backward()
    spike()


CASES = {"kept": kept, "kept_and_saved": kept_and_saved, "saved_only": saved_only, "adam": roles(torch.optim.Adam),
         "sgd": roles(torch.optim.SGD), "in_flight": in_flight, "branch_in_flight": branch_in_flight,
         "after_backward": after_backward, "retained": retained, "view_kept": view_kept,
         "checkpointed": checkpointed, "nested_checkpoints": nested_checkpoints, "lbfgs": lbfgs,
         "nested_state": nested_state, "closure_before": closure("before"), "closure_forward": closure("forward"),
         "closure_after": closure("after"), "raises": raises, "hooked": hooked}


def main():
    torch.set_num_threads(1)
    CASES[sys.argv[1]]()


main()
