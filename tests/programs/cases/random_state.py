"""Prints every random state after a training step, to detect a profiler that draws a random number."""

import hashlib
import random

import numpy
import torch
from torch import nn


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(2)
    numpy.random.seed(3)
    net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(net.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        net(torch.randn(4, 8)).sum().backward()
        optimizer.step()
    print(hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest())
    print(hashlib.sha256(repr(random.getstate()).encode()).hexdigest())
    print(hashlib.sha256(numpy.random.get_state()[1].tobytes()).hexdigest())
    print(sorted(globals()))  # nothing new in the program's namespace


main()
