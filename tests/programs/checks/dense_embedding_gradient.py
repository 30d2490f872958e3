"""Gradients of embedding tables."""

import torch
from torch import nn

from cases import main, negative, positive

WORDS, WIDTH, BATCH = 50_000, 32, 64


def trained(table, head=None, batch=BATCH, offsets=None, steps=3):
    torch.manual_seed(0)
    head = head or nn.Linear(WIDTH, 1)
    optimizer = torch.optim.SGD([*{*table.parameters(), *head.parameters()}], lr=0.1)
    for _ in range(steps):
        words = torch.randint(WORDS, (batch,))
        found = table(words) if offsets is None else table(words, offsets)
        head(found).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def sparse_lookup():
    trained(nn.Embedding(WORDS, WIDTH, sparse=True))


@positive(bytes=WORDS * WIDTH * 4, occurrences=3, severity="info", fixed="sparse_lookup")
def dense_lookup():
    trained(nn.Embedding(WORDS, WIDTH))


def sparse_bags():
    trained(nn.EmbeddingBag(WORDS, WIDTH, mode="sum", sparse=True), offsets=torch.arange(0, BATCH, 8))


@positive(bytes=WORDS * WIDTH * 4, occurrences=3, severity="info", fixed="sparse_bags")
def dense_bags():
    trained(nn.EmbeddingBag(WORDS, WIDTH, mode="sum"), offsets=torch.arange(0, BATCH, 8))


@negative
def sparse_gradients():
    sparse_lookup()


@negative
def most_rows_are_looked_up():
    trained(nn.Embedding(WORDS, WIDTH), batch=WORDS)


@negative
def weight_that_a_head_shares():
    table, head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS, bias=False)
    head.weight = table.weight
    trained(table, head)


if __name__ == "__main__":
    main()
