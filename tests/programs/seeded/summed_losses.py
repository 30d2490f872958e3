"""A classifier whose epoch loss is summed with the graph of every batch."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.Tanh(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
epoch_loss = 0.0
for _ in range(8):
    inputs, labels = torch.randn(512, 256), torch.randint(0, 10, (512,))
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    epoch_loss += loss  # bug
    # fixed: epoch_loss += loss.item()
print(f"mean loss {epoch_loss / 8:.4f}")
