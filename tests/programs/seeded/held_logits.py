"""A language model that returns its logits beside the loss; the training loop keeps them over the backward."""
import torch
from torch import nn
from torch.nn import functional as F


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=4096, width=64):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.hidden = nn.Linear(width, width)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, targets):
        logits = self.head(torch.tanh(self.hidden(self.embed(tokens))))
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())


torch.manual_seed(0)
model = LanguageModel()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(4):
    tokens = torch.randint(0, 4096, (8, 65))
    logits, loss = model(tokens[:, :-1], tokens[:, 1:])  # bug
    # fixed: logits, loss = model(tokens[:, :-1], tokens[:, 1:])
    # fixed: del logits
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
