"""A module that keeps its activations in an attribute, to look at them later, and never looks."""
import torch
from torch import nn
from torch.nn import functional as F


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(128, 1024)
        self.second = nn.Linear(1024, 10)
        self.seen = []

    def forward(self, x):
        hidden = torch.tanh(self.first(x))
        self.seen.append(hidden)  # bug
        # fixed: pass
        return self.second(hidden)


torch.manual_seed(0)
model = Encoder()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    inputs, labels = torch.randn(512, 128), torch.randint(0, 10, (512,))
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
