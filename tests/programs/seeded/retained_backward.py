"""retain_graph=True where one backward is all there is: the graph stays until the next batch has made its own."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 1024), nn.Tanh(), nn.Linear(1024, 1024), nn.Tanh(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    inputs, labels = torch.randn(1024, 256), torch.randint(0, 10, (1024,))
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward(retain_graph=True)  # bug
    # fixed: loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
