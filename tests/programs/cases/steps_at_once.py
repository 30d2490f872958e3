"""steps_at_once.py THREADS: as many optimizers make their first step at once. A trace stops each thread after each
instruction of Tapelens's hooks, so that the others come to the same place: as in a Python without a GIL, but always.
Prints the losses of each."""
import sys
import threading
import time

import torch
from torch import nn

THREADS, STEPS = int(sys.argv[1]), 2
torch.set_num_threads(1)
begin = threading.Barrier(THREADS)


def stopping(frame, event, _):
    frame.f_trace_opcodes = True
    if event == "opcode":
        time.sleep(0.0005)
    return stopping


def trace(frame, event, _):
    """Tapelens runs its Python in globals without a name."""
    return stopping(frame, event, _) if "__name__" not in frame.f_globals else None


def train(seed, said):
    generator = torch.Generator().manual_seed(seed)
    net = nn.Linear(16, 16)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    losses = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = net(torch.randn(8, 16, generator=generator)).square().mean()
        loss.backward()
        begin.wait()
        sys.settrace(trace)
        optimizer.step()
        sys.settrace(None)
        losses.append(loss.item().hex())
    said.append((seed, losses))


said = []
torch.randn(1).add(1)  # the first operator
threads = [threading.Thread(target=train, args=(seed, said)) for seed in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*sorted(said), sep="\n")
