"""Two nets of different sizes are trained by two threads at the same time."""

import threading

import torch
from torch import nn

from common import finish, show, start


def train(width, losses):
    start()
    source = torch.Generator().manual_seed(width)
    net, optimizer = NETS[width]
    for _ in range(4):
        x = torch.randn(128, 64, generator=source)
        optimizer.zero_grad()
        loss = (net(x) - x).abs().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())


torch.manual_seed(0)
torch.set_num_threads(1)
NETS, LOSSES = {}, {}
for width in (192, 320):
    net = nn.Sequential(nn.Linear(64, width), nn.SiLU(), nn.Linear(width, 64))
    NETS[width], LOSSES[width] = (net, torch.optim.AdamW(net.parameters(), lr=1e-2)), []
threads = [threading.Thread(target=train, args=(width, LOSSES[width])) for width in NETS]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for width, (net, _) in NETS.items():
    for step, loss in enumerate(LOSSES[width]):
        show(step, loss, f"loss of {width}")
    finish(net)
