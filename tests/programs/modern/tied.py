"""A language model whose output layer is its embedding, with its loss taken in chunks of tokens."""

import torch
from torch import nn
from torch.nn import functional as F

from blocks import TOKENS, WIDTH, Block
from common import finish, show, start


class Model(nn.Module):
    def __init__(self, words=500):
        super().__init__()
        self.embedding = nn.Embedding(words, WIDTH)
        self.block = Block()
        self.head = nn.Linear(WIDTH, words, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens, targets):
        hidden = self.block(self.embedding(tokens) * WIDTH ** 0.5)
        parts = zip(hidden.chunk(4, 1), targets.chunk(4, 1))
        return sum(F.cross_entropy(self.head(part).flatten(0, 1), wanted.flatten()) for part, wanted in parts) / 4


start()
net = Model()
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, amsgrad=True)
for step in range(3):
    tokens = torch.randint(0, 500, (8, TOKENS + 1))
    optimizer.zero_grad(set_to_none=False)
    loss = net(tokens[:, :-1], tokens[:, 1:])
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
