"""A moving average of the loss that is a tensor with the graph of every step."""
import torch
from torch import nn


class Meter:
    def __init__(self, momentum):
        self.momentum = momentum
        self.average = torch.zeros(())

    def update(self, value):
        self.average = self.momentum * self.average + (1 - self.momentum) * value  # bug
        # fixed: self.average = self.momentum * self.average + (1 - self.momentum) * value.detach()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))
optimizer = torch.optim.AdamW(model.parameters())
meter = Meter(0.9)
for _ in range(8):
    x = torch.randn(512, 128)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss)
    print(f"{meter.average.item():.4f}")
