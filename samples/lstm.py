"""An LSTM language model that carries its state from step to step; --own-cell writes the cell out in plain PyTorch."""

import torch
from torch import nn
from torch.nn import functional as F

from common import parse, pick, show


class Cell(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gates = nn.Linear(2 * width, 4 * width)

    def forward(self, x, state):
        hidden, cell = state
        i, f, g, o = self.gates(torch.cat([x, hidden], dim=-1)).chunk(4, dim=-1)
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(cell), cell


class Language(nn.Module):
    def __init__(self, vocabulary, width, own_cell):
        super().__init__()
        self.own_cell = own_cell
        self.embedding = nn.Embedding(vocabulary, width)
        self.rnn = Cell(width) if own_cell else nn.LSTM(width, width, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, state):
        x = self.embedding(tokens)
        if not self.own_cell:
            y, state = self.rnn(x, state)
            return self.head(y), state
        outputs = []
        for time in range(tokens.shape[1]):
            state = self.rnn(x[:, time], state)
            outputs.append(state[0])
        return self.head(torch.stack(outputs, dim=1)), state


def main():
    args = parse(__doc__, own_cell=False)
    vocabulary, width, length, batch = pick(args.size, (64, 32, 12, 4), (512, 256, 48, 16), (4096, 512, 96, 32))
    model = Language(vocabulary, width, args.own_cell)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    shape = (batch, width) if args.own_cell else (2, batch, width)
    state = (torch.zeros(shape), torch.zeros(shape))
    for step in range(args.steps):
        tokens = torch.randint(0, vocabulary, (batch, length + 1))
        optimizer.zero_grad()
        logits, state = model(tokens[:, :-1], state)
        state = tuple(s.detach() for s in state)
        loss = F.cross_entropy(logits.reshape(-1, vocabulary), tokens[:, 1:].reshape(-1))
        loss.backward()
        optimizer.step()
        show(step, loss)


if __name__ == "__main__":
    main()
