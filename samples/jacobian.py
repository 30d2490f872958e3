"""Several backward passes over one graph: a Jacobian row by row, a gradient penalty (double backward), two losses."""

import torch
from torch import nn

from common import parse, pick, show


class Field(nn.Module):
    """A small physics-informed network: u(x), of which the loss wants first and second derivatives."""

    def __init__(self, inputs, width, outputs):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, width), nn.Tanh(), nn.Linear(width, width), nn.Softplus())
        self.value = nn.Linear(width, outputs)
        self.flux = nn.Linear(width, outputs)

    def forward(self, x):
        shared = self.body(x)
        return self.value(shared), self.flux(shared)


def jacobian(outputs, inputs):
    """Row by row with retain_graph: every saved tensor lives until the last row."""
    rows = []
    for column in range(outputs.shape[1]):
        (row,) = torch.autograd.grad(outputs[:, column].sum(), inputs, retain_graph=True, create_graph=True)
        rows.append(row)
    return torch.stack(rows, dim=1)


def main():
    args = parse(__doc__)
    inputs, width, outputs, batch = pick(args.size, (3, 32, 4, 16), (6, 256, 8, 256), (8, 512, 16, 1024))
    model = Field(inputs, width, outputs)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    for step in range(args.steps):
        x = torch.randn(batch, inputs, requires_grad=True)
        target = torch.sin(x.detach().sum(dim=1, keepdim=True)).expand(batch, outputs)
        optimizer.zero_grad()
        value, flux = model(x)
        slopes = jacobian(value, x)
        fit = (value - target).square().mean()
        smooth = slopes.square().mean()
        match = (flux - slopes.sum(dim=2)).abs().mean()
        fit.backward(retain_graph=True)  # two losses, two backward passes over one graph
        (0.1 * smooth + match).backward()
        optimizer.step()
        show(step, fit, "fit")
        show(step, smooth, "smooth")


if __name__ == "__main__":
    main()
