"""Embeddings with sparse gradients and SparseAdam beside an ordinary optimizer."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
words, bags = nn.Embedding(5000, 64, sparse=True), nn.EmbeddingBag(2000, 64, mode="sum", sparse=True)
head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
sparse = torch.optim.SparseAdam([*words.parameters(), *bags.parameters()], lr=1e-2)
dense = torch.optim.Adagrad(head.parameters(), lr=1e-2)
for step in range(4):
    x = torch.cat([words(torch.randint(0, 5000, (256, 12))).mean(1), bags(torch.randint(0, 2000, (256, 6)))], 1)
    for optimizer in (sparse, dense):
        optimizer.zero_grad()
    loss = F.cross_entropy(head(x), torch.randint(0, 10, (256,)))
    loss.backward()
    for optimizer in (sparse, dense):
        optimizer.step()
    show(step, loss)
finish(words, bags, head)
