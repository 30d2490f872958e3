"""Losses that are summed before one backward, and losses that must be."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

WIDTH, BATCH = 256, 1024
SAVED = 4 * WIDTH * BATCH  # bytes of one activation
LOSS = 4 * BATCH * 10 + 4  # saves of cross_entropy


def make():
    torch.manual_seed(0)
    layers = [layer for _ in range(4) for layer in (nn.Linear(WIDTH, WIDTH), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def data():
    return torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))


def micro_batches_fixed():
    model, optimizer = make()
    batches = [data() for _ in range(4)]
    for _ in range(2):
        optimizer.zero_grad()
        for inputs, labels in batches:
            (F.cross_entropy(model(inputs), labels) / 4).backward()
        optimizer.step()


# The graphs of all losses except the last of the four: four activations each, and the saves of the loss.
@positive(bytes=3 * (4 * SAVED + LOSS), severity="warning", fixed="micro_batches_fixed")
def micro_batches():
    model, optimizer = make()
    batches = [data() for _ in range(4)]
    for _ in range(2):
        optimizer.zero_grad()
        loss = 0
        for inputs, labels in batches:
            loss = loss + F.cross_entropy(model(inputs), labels) / 4
        loss.backward()
        del loss
        optimizer.step()


def episode(losses_of, count=2):
    model, optimizer = make()
    batches = [data() for _ in range(3)]
    for _ in range(count):
        optimizer.zero_grad()
        losses_of(model, batches)
        optimizer.step()


def stack_of_losses_fixed():
    def each(model, batches):
        for inputs, labels in batches:
            (F.cross_entropy(model(inputs), labels) / len(batches)).backward()
    episode(each)


@positive(bytes=2 * (4 * SAVED + LOSS), severity="warning", fixed="stack_of_losses_fixed")
def stack_of_losses():
    def together(model, batches):
        torch.stack([F.cross_entropy(model(inputs), labels) for inputs, labels in batches]).mean().backward()
    episode(together)


def two_losses_fixed():
    def each(model, batches):
        F.cross_entropy(model(batches[0][0]), batches[0][1]).backward()
        (0.5 * F.cross_entropy(model(batches[1][0]), batches[1][1])).backward()
    episode(each)


# Two graphs in the finding, but without a cause.
@positive(bytes=4 * SAVED + LOSS, severity="info", fixed="two_losses_fixed")
def two_losses():
    def together(model, batches):
        real = F.cross_entropy(model(batches[0][0]), batches[0][1])
        (real + 0.5 * F.cross_entropy(model(batches[1][0]), batches[1][1])).backward()
    episode(together)


@negative
def backward_for_each():
    micro_batches_fixed()


@negative
def siamese():
    """Two graphs that meet in the loss, which is not a sum of two losses."""
    def together(model, batches):
        one, other = model(batches[0][0]), model(batches[1][0])
        F.cosine_embedding_loss(one, other, torch.ones(BATCH)).backward()
    episode(together)


@negative
def two_heads():
    """Two losses of one trunk."""
    torch.manual_seed(0)
    model, _ = make()
    heads = nn.ModuleList(nn.Linear(10, 5) for _ in range(3))
    optimizer = torch.optim.SGD([*model.parameters(), *heads.parameters()], lr=0.1)
    for _ in range(2):
        inputs, labels = data()
        optimizer.zero_grad()
        features = model(inputs)
        sum(F.cross_entropy(head(features), labels % 5) for head in heads).backward()
        optimizer.step()


@negative
def weight_penalty():
    """Graphs that save nothing but weights."""
    def together(model, batches):
        penalty = sum(parameter.pow(2).sum() for parameter in model.parameters())
        (F.cross_entropy(model(batches[0][0]), batches[0][1]) + 1e-4 * penalty).backward()
    episode(together)


@negative
def carried_state():
    """The losses of a recurrent net's times share its state."""
    torch.manual_seed(0)
    cell, head = nn.GRUCell(32, 64), nn.Linear(64, 10)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.1)
    for _ in range(2):
        state, loss = torch.zeros(BATCH, 64), 0
        for _ in range(4):
            state = cell(torch.randn(BATCH, 32), state)
            loss = loss + F.cross_entropy(head(state), torch.randint(0, 10, (BATCH,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
