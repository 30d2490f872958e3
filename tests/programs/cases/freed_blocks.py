"""Trains a deep net of activations of 4 MiB: freed_blocks.py STEPS. Prints the losses, and to standard error the page faults of
the later half of the steps and the highest resident memory, in MiB. Without steps it frees a block that the C library has from
the system, and prints whether its memory is still there."""

import resource
import sys

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
steps = int(sys.argv[1])
if steps == 0:
    block = torch.ones(31 << 20, dtype=torch.uint8)
    address = block.data_ptr()
    del block
    with open("/proc/self/maps", encoding="ascii") as maps:
        spans = [[int(end, 16) for end in line.split()[0].split("-")] for line in maps]
    print(any(begin <= address < end for begin, end in spans))
    sys.exit()
layers = []
for _ in range(12):
    layers += [torch.nn.Linear(128, 128), torch.nn.ReLU(), torch.nn.Dropout(0.1)]
net = torch.nn.Sequential(*layers)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
data = torch.randn(8192, 128)
before = 0
for step in range(steps):
    if step == steps // 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    optimizer.zero_grad()
    loss = net(data).pow(2).mean()
    loss.backward()
    optimizer.step()
    print(loss.item())
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_minflt - before, usage.ru_maxrss // 1024, file=sys.stderr)
