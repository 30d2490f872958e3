"""Cross-entropy over a vocabulary, of all tokens at once."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint  # noqa: F401

torch.manual_seed(0)
body = nn.Sequential(nn.Embedding(8192, 64), nn.Linear(64, 64), nn.Tanh())
head = nn.Linear(64, 8192, bias=False)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)


def chunk_loss(hidden, targets):
    return F.cross_entropy(head(hidden), targets, reduction="sum")


for _ in range(3):
    tokens = torch.randint(0, 8192, (1024,))
    hidden, targets = body(tokens), tokens.roll(-1)
    loss = F.cross_entropy(head(hidden), targets)  # bug
    # fixed: parts = zip(hidden.chunk(8), targets.chunk(8))
    # fixed: loss = sum(checkpoint(chunk_loss, h, t, use_reentrant=False) for h, t in parts) / 1024
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
