"""Runs the source of a training loop that it writes itself: a name without a file, and functions made by exec."""

import sys

import torch
from torch import nn

from common import finish, show, start

LOOP = """
def train(net, optimizer, steps):
    for step in range(steps):
        x = torch.randn(128, 64)
        optimizer.zero_grad()
        loss = (net(x) - x).abs().mean()
        loss.backward()
        optimizer.step()
        show(step, loss)
"""


def main():
    start()
    names = {"torch": torch, "show": show}
    exec(compile(LOOP, "<made by the program>", "exec"), names)
    net = eval("nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))", {"nn": nn})
    names["train"](net, torch.optim.Adamax(net.parameters()), int(sys.argv[1]))
    finish(net)


if __name__ == "__main__":
    main()
