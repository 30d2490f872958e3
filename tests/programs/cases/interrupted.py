"""Trains until Ctrl-C, prints one message, trains one more step and ends with a nonzero exit code."""

import sys

import torch
from torch.autograd.profiler import record_function


def train():
    w = torch.ones(128, 128, requires_grad=True)
    (w @ w).tanh().sum().backward()


def main():
    torch.set_num_threads(1)
    train()
    print("ready", flush=True)
    try:
        while True:
            train()
    except KeyboardInterrupt:
        print("interrupted once", flush=True)
    with record_function("after the interrupt"):
        train()
    sys.exit(7)


main()
