"""A small program for tests of `tapelens check`. The first argument is its device."""

import sys

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        hidden = F.relu(self.up(x))
        return x + self.down(hidden)


class Net(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.backbone = nn.Sequential(Block(width), Block(width))
        self.head = Block(width)

    def forward(self, x):
        x = self.backbone(x)
        return self.head(x)


def evaluate(net, x):
    with torch.no_grad():
        return net(x).mean()


def train(device, steps=4, rows=2048):
    torch.manual_seed(0)
    net = Net().to(device)
    net.backbone.requires_grad_(False)
    optimizer = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.01)
    losses, evaluations = [], []
    for _ in range(steps):
        x = torch.randn(rows, 128, device=device)
        loss = net(x).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        evaluations.append(evaluate(net, x))
    print(len(losses), len(evaluations))


if __name__ == "__main__":
    train(sys.argv[1])
