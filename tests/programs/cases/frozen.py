"""A trained convolution before frozen ones. No gradient needs the inputs of the frozen ones, but autograd saves them.

    python frozen.py LAYERS [STEPS]
"""

import sys

import torch

layers, steps = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 3
with torch.device("cuda"):
    # 32 MiB for each layer.
    first = torch.nn.Conv2d(3, 64, 3, padding=1)
    rest = [torch.nn.Conv2d(64, 64, 3, padding=1).requires_grad_(False) for _ in range(layers)]
    model = torch.nn.Sequential(first, *rest)
optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
for _ in range(steps):
    model(torch.randn(32, 3, 64, 64, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
