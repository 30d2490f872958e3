"""A trainer with callbacks, one of which keeps the history of the loss."""
import torch
from torch import nn


class History:
    def __init__(self):
        self.losses = []

    def on_step_end(self, loss):
        self.losses.append(loss)  # bug
        # fixed: self.losses.append(loss.item())


class Trainer:
    def __init__(self, model, callbacks):
        self.model, self.callbacks = model, callbacks
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, steps):
        for _ in range(steps):
            x = torch.randn(512, 128)
            loss = (self.model(x) - x).abs().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            for callback in self.callbacks:
                callback.on_step_end(loss)  # bug


torch.manual_seed(0)
history = History()
Trainer(nn.Sequential(nn.Linear(128, 512), nn.Tanh(), nn.Linear(512, 128)), [history]).fit(8)
print(len(history.losses))
