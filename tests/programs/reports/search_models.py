"""A search over widths: each model counts its calls in a hook that refers to it."""
import torch
from torch import nn


class Counted(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, 256))
        self.calls = 0
        self.register_forward_pre_hook(lambda module, args: self.count())

    def count(self):
        self.calls += 1

    def forward(self, x):
        return self.net(x)


torch.manual_seed(0)
x = torch.randn(16, 256)
with torch.no_grad():
    for trial in range(6):
        model = Counted(2048)
        print(trial, tuple(model(x).shape))
