"""A product with one-hot rows selects rows of a table."""
import torch
from torch import nn

WORDS, WIDTH = 8192, 64


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Parameter(torch.randn(WORDS, WIDTH) * 0.02)
        self.out = nn.Linear(WIDTH, 16)

    def forward(self, ids):
        words = nn.functional.embedding(ids, self.table)
        return self.out(words).mean(1)


torch.manual_seed(0)
model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    ids, target = torch.randint(0, WORDS, (8, 128)), torch.randint(0, 16, (8,))
    loss = nn.functional.cross_entropy(model(ids), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
