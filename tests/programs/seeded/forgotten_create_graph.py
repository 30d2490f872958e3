"""The norm of the gradients is logged; create_graph=True is left from a penalty that is gone."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.Softplus(), nn.Linear(512, 512), nn.Softplus(), nn.Linear(512, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    inputs, labels = torch.randn(512, 256), torch.randint(0, 10, (512,))
    loss = F.cross_entropy(model(inputs), labels)
    gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)  # bug
    # fixed: gradients = torch.autograd.grad(loss, list(model.parameters()))
    for p, gradient in zip(model.parameters(), gradients):
        p.grad = gradient.detach()
    optimizer.step()
    print(f"{loss.item():.4f} {float(sum(g.square().sum() for g in gradients).detach()) ** 0.5:.4f}")
