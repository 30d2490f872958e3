"""A time series with LBFGS, whose closure runs forward and backward."""
import torch
from torch import nn


def main():
    torch.manual_seed(1)
    series = torch.sin(torch.arange(0, 60) / 4.0).repeat(16, 1) + 0.05 * torch.randn(16, 60)
    model = nn.Sequential(nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 1))
    inputs = series.unfold(1, 20, 1)[:, :-1].reshape(-1, 20)
    targets = series[:, 20:].reshape(-1, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)

    def closure():
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        return loss

    for step in range(4):
        print(step, optimizer.step(closure).item())
    with torch.no_grad():
        print(nn.functional.mse_loss(model(inputs), targets).item())


main()
