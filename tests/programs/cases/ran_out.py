"""Runs out of memory on a GPU: `ran_out.py STEPS [raise|kill|retry]`. Request in step STEPS for 512 MiB: the exception ends
the program, or the program kills itself as soon as it has the exception. "retry" catches it, 20 times, and trains on.
The ranks of torchrun do it together."""

import os
import signal
import sys

import torch
import torch.distributed as dist

steps, end = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "raise"
is_rank = int(os.environ.get("WORLD_SIZE", "1")) > 1
if is_rank:
    dist.init_process_group("gloo")
net = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 1)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)


def train():
    net(torch.ones(64, 256, device="cuda")).mean().backward()
    optimizer.step()
    optimizer.zero_grad()


def ask():
    return torch.empty(512 << 20, dtype=torch.uint8, device="cuda")


for _ in range(steps):
    train()
if end == "retry":
    for _ in range(20):
        try:
            ask()
        except torch.OutOfMemoryError:
            train()
    print("done")
    sys.exit(0)
if is_rank:
    dist.barrier()
try:
    ask()
except torch.OutOfMemoryError:
    if end == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise
finally:
    if is_rank:
        dist.barrier()
