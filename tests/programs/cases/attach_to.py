"""Trains for a while, with output that does not depend on time. After the first steps it writes the file READY with its
own count of the live tensors; at the end it prints whether its descriptors, threads, variables and modules are the same.
    attach_to.py READY STEPS [inference | pause]"""
import gc
import os
import sys
import threading
import time

import torch
from torch import nn

ready, steps, how = sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else ""
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.Tanh(), nn.Linear(256, 10))
kept = torch.randn(1000, 100)  # a variable of the program
views = [kept[i] for i in range(10)]  # they have its storage


class NotComparable(type):
    """Code that runs if another one compares the program's classes."""

    def __eq__(cls, other):
        raise RuntimeError(f"compared with {other}")

    __hash__ = None


class Odd(metaclass=NotComparable):
    pass


odd = Odd()


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def live_bytes():
    storages = {}
    for one in gc.get_objects():
        if issubclass(type(one), torch.Tensor):
            for tensor in (one, one.grad if one.is_leaf and one.requires_grad else None):
                if tensor is not None:
                    storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
    return sum(storages.values())


if how == "inference":
    net.requires_grad_(False)
else:
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
before = descriptors(), len(os.listdir("/proc/self/task")), dict(os.environ), sorted(sys.modules)
for step in range(steps):
    loss = net(torch.randn(32, 64)).square().mean()
    if how != "inference":
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(step, f"{loss.item():.6f}", flush=True)
    if step == 3:
        loss = None
        with open(ready + ".part", "w", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {live_bytes()}")
        os.rename(ready + ".part", ready)
        while how == "pause":  # between two steps
            time.sleep(0.01)
    time.sleep(0.02)
after = descriptors(), len(os.listdir("/proc/self/task")), dict(os.environ), sorted(sys.modules)
print("random", torch.rand(1).item(), "same", [a == b for a, b in zip(before, after)], threading.active_count())
if how != "inference":
    hooks = sys.modules["torch.optim.optimizer"]
    print("hooks", len(hooks._global_optimizer_pre_hooks), len(hooks._global_optimizer_post_hooks))
sys.exit(7)
