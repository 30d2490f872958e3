"""Perplexity of an evaluation: the program keeps one log-probability of each token, which keeps those of all words."""
import torch
from torch import nn

torch.manual_seed(0)
ROWS, LENGTH, WORDS = 16, 64, 4096
model = nn.Sequential(nn.Embedding(WORDS, 32), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, WORDS))


def score(logits, ids):
    return logits.log_softmax(-1).gather(-1, ids[..., None]).mean()


total = 0.0
with torch.no_grad():
    for _ in range(4):
        ids = torch.randint(WORDS, (ROWS, LENGTH))
        total += score(model(ids)[:, :-1], ids[:, 1:]).item()
print(round(total, 3))
