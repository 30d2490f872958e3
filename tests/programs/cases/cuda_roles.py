"""A training whose memory history has C++ frames: python cuda_roles.py SNAPSHOT. It has parameters, buffers, gradients,
state and saves, checkpointing, a custom function, a hook, and gradients that are alive during the forward."""

import sys

import torch
from torch.utils.checkpoint import checkpoint


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 3

    @staticmethod
    def backward(ctx, gradient):
        x, = ctx.saved_tensors
        return gradient * 3 + x * 0


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(300, 700)
        self.norm = torch.nn.BatchNorm1d(700)
        self.second = torch.nn.Sequential(torch.nn.Linear(700, 700), torch.nn.ReLU())
        self.last = torch.nn.Linear(700, 300)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = checkpoint(self.second, x, use_reentrant=False)
        x = Scaled.apply(x)
        x.register_hook(lambda gradient: gradient + 0)
        return self.last(x)


def main():
    torch.cuda.memory._record_memory_history(stacks="all", max_entries=1_000_000)
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(3):
        loss = net(torch.randn(64, 300, device="cuda")).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    torch.cuda.memory._dump_snapshot(sys.argv[1])


main()
