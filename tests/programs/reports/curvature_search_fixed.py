"""Candidates are judged by how their gradients change. backward(create_graph=True) leaves gradients whose graphs lead back to
the parameters they belong to, so no candidate is ever freed."""
import torch
from torch import nn

torch.manual_seed(0)
inputs, labels = torch.randn(128, 256), torch.randint(0, 10, (128,))


def curvature(model):
    loss = nn.functional.cross_entropy(model(inputs), labels)
    gradients = torch.autograd.grad(loss, model.parameters(), create_graph=True)
    norm = sum(gradient.norm() for gradient in gradients)
    return sum(second.norm() for second in torch.autograd.grad(norm, list(model.parameters()))).item()


found = []
for width in (1024,) * 6:
    candidate = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, 10))
    found.append(curvature(candidate))
print(min(found))
