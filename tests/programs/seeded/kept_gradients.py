"""Gradients that are set to zero instead of released: they are there while the next batch goes forward."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    inputs, labels = torch.randn(512, 512), torch.randint(0, 10, (512,))
    optimizer.zero_grad(set_to_none=False)  # bug
    loss = F.cross_entropy(model(inputs), labels)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(f"{loss.item():.4f}")
