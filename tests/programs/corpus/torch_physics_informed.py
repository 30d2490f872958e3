"""A network that solves a differential equation: its loss contains a derivative."""
import torch
from torch import nn


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(5):
        t = torch.rand(256, 1, requires_grad=True)
        u = model(t)
        slope, = torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)
        start = model(torch.zeros(1, 1))
        loss = (slope + u).square().mean() + (start - 1).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
