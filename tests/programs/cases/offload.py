"""offload.py FUNCTION: programs on CUDA whose saves are offloaded. Each prints a digest of its results."""

import os
import sys
import threading

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cuda_rewrites import SIDE, Branches, digest, tell

LAYERS = 6


class Deep(nn.Module):
    """Enough saves that most of them leave the device: views, several outputs, writes in place."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(SIDE, 3 * SIDE) for _ in range(LAYERS))

    def layer(self, layer, x):
        a, b, c = layer(x).chunk(3, dim=1)
        h = (a.t() @ b).softmax(dim=0) @ c.sigmoid()
        h = (h.tanh_() + x).mul_(0.5)
        return h * h.exp().clamp(max=4) + F.gelu(h[:, ::2]).repeat(1, 2)

    def forward(self, x):
        for layer in self.layers:
            x = self.layer(layer, x)
        return x


def made(net=Deep):
    torch.manual_seed(0)
    return net().cuda(), torch.randn(SIDE, SIDE).cuda() / 8


def trained(loss_of, steps=3, net=Deep):
    net, x = made(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(steps):
        loss = loss_of(net, x)
        loss.backward()
        tell(net, loss)
        optimizer.step()
        optimizer.zero_grad()


def deep():
    trained(lambda net, x: net(x).square().mean())


def kept_graph():
    """Reads each save three times, in whole or in part."""
    net, x = made()
    h = net(x)
    loss = h.square().mean()
    loss.backward(retain_graph=True)
    part, = torch.autograd.grad(h.sum(), net.layers[4].weight, retain_graph=True)
    loss.backward()
    print(digest(part))
    tell(net, loss)


def second_order():
    """The backward makes nodes with saves, which a second backward reads."""
    net, x = made()
    x.requires_grad_()
    slope, = torch.autograd.grad(net(x).square().mean(), x, create_graph=True)
    loss = slope.square().sum()
    loss.backward()
    tell(net, loss)


def two_graphs():
    """Three forwards before the backwards of two, and one that has none."""
    net, x = made()
    first, second, third = (net(x * i).square().mean() for i in (1, 2, 3))
    second.backward()
    first.backward()
    print(third.item().hex())
    del third
    tell(net, first)


def checkpointed():
    """The backward runs forwards, whose saves are rewritten too."""
    trained(lambda net, x: checkpoint(net, x, use_reentrant=False).square().mean())
    trained(lambda net, x: checkpoint(net, x.clone().requires_grad_(), use_reentrant=True).square().mean())


def failing_backward():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("halfway")

    net, x = made()
    for _ in range(5):
        h = x
        for i, layer in enumerate(net.layers):
            h = net.layer(layer, Fails.apply(h) if i == LAYERS // 2 else h)
        try:
            h.sum().backward()
        except ValueError as error:
            print(error)
        del h
    net.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    tell(net, loss)


def written_in_place():
    """A write to a saved tensor is an error, before and after it left the device."""
    net, x = made()
    for _ in range(2):
        h = x @ net.layers[0].weight.t()
        kept = h.exp()
        others = net(x)
        kept.add_(1)
        try:
            (kept.sum() + others.sum()).backward()
        except RuntimeError as error:
            print(str(error).split(" Hint:")[0])
        del h, kept, others
    loss = net(x).square().mean()
    loss.backward()
    tell(net, loss)


def looked_at():
    """The program reads saved tensors through their nodes, and writes what it read."""
    net, x = made()
    h = x @ net.layers[0].weight.t()
    y = h.exp()
    node = y.grad_fn
    loss = net(y[:, :SIDE]).square().mean()
    del h, y
    net(x)  # no backward
    print(digest(node._saved_result))
    loss.backward()
    tell(net, loss)


def threads():
    """Each thread has a forward; the engine's thread reads them all."""
    nets = [made() for _ in range(3)]
    losses = [None] * len(nets)

    def forward(i):
        net, x = nets[i]
        losses[i] = net(x).square().mean()

    for _ in range(3):
        workers = [threading.Thread(target=forward, args=(i,)) for i in range(len(nets))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        sum(losses).backward()
    for (net, _), loss in zip(nets, losses):
        tell(net, loss)


def own_pinned_memory():
    """The program copies by pinned memory itself, on a separate stream."""
    net, x = made()
    host, side = torch.empty_like(x, device="cpu", pin_memory=True), torch.cuda.Stream()
    for step in range(4):
        host.copy_(torch.full((SIDE, SIDE), 0.1 * step))
        with torch.cuda.stream(side):
            batch = host.to("cuda", non_blocking=True)
        torch.cuda.current_stream().wait_stream(side)
        loss = net(x + batch.clone()).square().mean()
        loss.backward()
    tell(net, loss)


def dropped():
    """No backward. The host's memory must not grow."""
    net, x = made()
    reserved = []
    for step in range(200):
        loss = net(x).square().mean()
        if step in (20, 199):
            reserved.append(torch.cuda.host_memory_stats()["allocated_bytes.current"])
        if step % 50 == 0:
            print(loss.item().hex())
        del loss
    print(reserved[0] == reserved[1], file=sys.stderr)
    print(True)


def branches():
    trained(lambda net, x: net(x).square().mean(), net=Branches)


def on_the_cpu():
    torch.manual_seed(0)
    net, x = Deep(), torch.randn(SIDE, SIDE) / 8
    loss = net(x).square().mean()
    loss.backward()
    tell(net, loss)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
    sys.stdout.flush()
    os._exit(0)  # another test covers the end of the interpreter
