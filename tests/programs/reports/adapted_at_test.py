"""The program adapts a model to each task by differentiable steps. At test time, no backward uses them."""
import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 768), nn.Tanh(), nn.Linear(768, 768), nn.Tanh(), nn.Linear(768, 4))


def adapted(inputs, targets):
    weights = dict(model.named_parameters())
    for _ in range(6):
        loss = nn.functional.l1_loss(functional_call(model, weights, (inputs,)), targets)
        gradients = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
        weights = {name: weight - 0.1 * gradient for (name, weight), gradient in zip(weights.items(), gradients)}
    return weights


def error(inputs, targets):
    weights = adapted(inputs, targets)
    with torch.no_grad():
        return nn.functional.l1_loss(functional_call(model, weights, (inputs,)), targets).item()


print([error(torch.randn(48, 128), torch.randn(48, 4)) for task in range(4)])
