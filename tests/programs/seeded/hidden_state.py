"""A character model that carries its hidden state from batch to batch; retain_graph=True made the error go away."""
import torch
from torch import nn
from torch.nn import functional as F


class CharModel(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.rnn = nn.GRU(width, width)
        self.head = nn.Linear(width, 64)

    def forward(self, tokens, state):
        output, state = self.rnn(self.embed(tokens), state)
        return self.head(output), state


torch.manual_seed(0)
model = CharModel()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
text = torch.randint(0, 64, (6, 33, 32))
state = torch.zeros(1, 32, 128)
total = []
for chunk in text:
    logits, state = model(chunk[:-1], state)  # bug
    # fixed: logits, state = model(chunk[:-1], state.detach())
    loss = F.cross_entropy(logits.flatten(0, 1), chunk[1:].flatten())
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    # fixed: loss.backward()
    total.append(loss.item())
print(sum(total))
