"""Trains, starts a second interpreter that trains too, reads its output, and trains again."""

import pathlib
import subprocess
import sys

import torch
from torch import nn

from common import finish, show, start

start()
net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))
optimizer = torch.optim.ASGD(net.parameters())


def train(step):
    x = torch.randn(128, 64)
    optimizer.zero_grad()
    loss = (net(x) - x).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)


train(0)
if "alone" not in sys.argv:
    child = subprocess.run([sys.executable, pathlib.Path(__file__).resolve(), "alone"], capture_output=True, text=True, check=True)
    print("the other said:", *child.stdout.splitlines(), child.stderr, sep="\n  ")
train(1)
train(2)
finish(net)
