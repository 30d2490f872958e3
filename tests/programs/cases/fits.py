"""Programs for `tapelens fit`: fits.py NAME SIZE. Each trains a stack of linear layers on CUDA."""

import argparse
import os
import subprocess
import sys
import time

import torch

WIDTH = 1024
parser = argparse.ArgumentParser()
parser.add_argument("case")
parser.add_argument("size", type=int, nargs="?", default=1)
parser.add_argument("--steps", type=int, default=100_000)
parser.add_argument("--leave", help="a file")
args = parser.parse_args()
torch.manual_seed(0)
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(4)]).cuda()
optimizer = torch.optim.Adam(net.parameters())


def step(size):
    x = torch.randn(size * 256, WIDTH, device="cuda")
    net(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def endless():
    while True:
        step(args.size)


def catches():
    """Halves the batch size until it fits, as Accelerate's find_executable_batch_size does."""
    size = args.size
    for _ in range(args.steps):
        try:
            step(size)
        except torch.OutOfMemoryError:
            optimizer.zero_grad()
            size = max(1, size // 2)


def even():
    if args.size % 2 == 1:
        raise ValueError(f"{args.size} is odd")
    for _ in range(args.steps):
        step(args.size)


def inference():
    with torch.no_grad():
        net(torch.randn(args.size * 256, WIDTH, device="cuda"))


def grows():
    kept = []
    for _ in range(args.steps):
        step(args.size)
        kept.append(torch.empty(8 << 20, device="cuda"))


def leaves():
    """A process that continues after its parent: in another session, as torchrun starts its workers."""
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with open(args.leave, "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {child.pid}")
    endless()


def stuck():
    step(args.size)
    time.sleep(600)


globals()[args.case]()
