"""Blocks for which a checkpoint pays, and modules for which it does not."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cases import main, negative, positive

WIDTH, BATCH, BLOCKS = 128, 512, 6
SAVED = 4 * WIDTH * BATCH  # bytes of one activation of a block's own width


class Block(nn.Module):
    """Widens, and narrows again: the saves inside are four times as large as the input."""

    def __init__(self):
        super().__init__()
        self.up = nn.Parameter(torch.randn(WIDTH, 4 * WIDTH) / 16)
        self.down = nn.Parameter(torch.randn(4 * WIDTH, WIDTH) / 16)

    def forward(self, x):
        return torch.sigmoid(x @ self.up).square() @ self.down


class Net(nn.Module):
    def __init__(self, block, checkpointed):
        super().__init__()
        self.blocks = nn.ModuleList(block() for _ in range(BLOCKS))
        self.head = nn.Linear(WIDTH, 10)
        self.checkpointed = checkpointed

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.checkpointed else block(x)
        return self.head(x)


def train(block, checkpointed=False, count=3):
    torch.manual_seed(0)
    model = Net(block, checkpointed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(count):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(BATCH, WIDTH)), torch.randint(0, 10, (BATCH,))).backward()
        optimizer.step()


def blocks_fixed():
    train(Block, checkpointed=True)


# Each saves the wide sigmoid's result and its square.
@positive(bytes=BLOCKS * 8 * SAVED, severity="info", fixed="blocks_fixed")
def blocks():
    train(Block)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(WIDTH, WIDTH) / 16)

    def forward(self, x):
        hidden = torch.tanh(x @ self.weight)
        return x + torch.sigmoid(hidden @ self.weight)


def residual_fixed():
    train(Residual, checkpointed=True)


# tanh's result and sigmoid's; the input is the block's before.
@positive(bytes=BLOCKS * 2 * SAVED, severity="info", fixed="residual_fixed")
def residual():
    train(Residual)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        gate, value = self.up(self.norm(x)).chunk(2, dim=1)
        return x + self.down(torch.sigmoid(gate) * value)


def gated_fixed():
    train(Gated, checkpointed=True)


# The norm's result and its two statistics, both halves of `up`, sigmoid's result and the product.
@positive(bytes=BLOCKS * (5 * SAVED + 2 * 4 * BATCH), severity="info", fixed="gated_fixed")
def gated():
    train(Gated)


@negative
def checkpointed():
    train(Block, checkpointed=True)


@negative
def called_once():
    """One call needs all the freed tensors again at once."""
    torch.manual_seed(0)
    model = nn.Sequential(Block(), nn.Linear(WIDTH, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(BATCH, WIDTH)), torch.randint(0, 10, (BATCH,))).backward()
        optimizer.step()


@negative
def layers_that_save_their_inputs():
    """Linear saves its input. With a checkpoint the input stays alive as well."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(WIDTH, WIDTH) for _ in range(6)), nn.Linear(WIDTH, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.randn(BATCH, WIDTH)), torch.randint(0, 10, (BATCH,))).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
