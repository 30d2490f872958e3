"""verified.py [unseeded] [fails] [closure] [strange]: three steps of a small, partly frozen net, for verify. Prints the
loss of each step, and "done" at the end."""

import sys

import torch
from torch import nn

BATCH, CHANNELS, SIDE = 8, 16, 32


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.frozen = nn.Conv2d(3, CHANNELS, 3, padding=1).requires_grad_(False)
        self.conv = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.shift = nn.Parameter(torch.zeros(1, CHANNELS, 1, 1))

    def forward(self, x):
        x = self.frozen(x + self.shift.mean())
        x = torch.relu(self.conv(x) + self.shift)
        return torch.tanh(x - 0.5)


class Strange(nn.Module):
    """Gradients whose order in memory differs from the order of elements, sparse gradients, and gradients of small
    types."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(100, 8, sparse=True)
        self.weight = nn.Parameter(torch.randn(4, 8).t())
        self.small = nn.Parameter(torch.randn(4, dtype=torch.bfloat16))
        self.unused = nn.Parameter(torch.randn(3))

    def forward(self, x):
        return self.embedding(x) @ self.weight * self.small.float()


def main():
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    if "unseeded" not in sys.argv:
        torch.manual_seed(0)
    strange = "strange" in sys.argv
    net = Strange() if strange else Net()
    trained = [p for p in net.parameters() if p.requires_grad]
    optimizer = torch.optim.LBFGS(trained, max_iter=2) if "closure" in sys.argv else torch.optim.SGD(trained, lr=0.1)
    for _ in range(3):
        x = torch.randint(0, 100, (BATCH,)) if strange else torch.randn(BATCH, 3, SIDE, SIDE)

        def loss_of(x=x):
            optimizer.zero_grad()
            loss = net(x).mean()
            loss.backward()
            print(f"loss {loss.item()!r}")
            return loss

        if "closure" in sys.argv:
            optimizer.step(loss_of)
        else:
            loss_of()
            optimizer.step()
    if "fails" in sys.argv:
        raise RuntimeError("on purpose")
    print("done")


if __name__ == "__main__":
    main()
