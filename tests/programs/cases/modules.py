"""Nested modules; the peak is in the forward of the second block, whose `up` makes a tensor that sin saves."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, spikes):
        super().__init__()
        self.up, self.down, self.spikes = nn.Linear(11, width), nn.Linear(width, 11), spikes

    def forward(self, x):
        z = torch.tanh(self.down(torch.sin(self.up(x))))
        if self.spikes:
            torch.empty(256 << 20, dtype=torch.uint8)
        return z


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(13, False), Block(1033, True)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def main():
    torch.set_num_threads(1)
    Net()(torch.ones(37, 11)).sum().backward()


main()
