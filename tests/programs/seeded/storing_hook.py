"""A forward hook for a histogram of activations, which stores the tensors themselves."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
activations = []


def store(module, inputs, output):
    activations.append(output.detach())  # bug
    # fixed: activations.append(float(output.detach().mean()))


model[1].register_forward_hook(store)
for _ in range(6):
    inputs, labels = torch.randn(256, 128), torch.randint(0, 10, (256,))
    loss = F.cross_entropy(model(inputs), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
