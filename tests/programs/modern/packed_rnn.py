"""Packed sequences through a bidirectional LSTM and a GRU, in the order of their lengths and not."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pack_sequence, pad_packed_sequence

from common import finish, show, start

start()
lstm = nn.LSTM(32, 64, num_layers=2, bidirectional=True, batch_first=True, dropout=0.1)
gru, head = nn.GRU(128, 32), nn.Linear(32, 5)
optimizer = torch.optim.Adam([p for m in (lstm, gru, head) for p in m.parameters()], lr=1e-3)
for step in range(3):
    lengths = torch.tensor([7, 20, 13, 4, 20, 9])
    packed = pack_padded_sequence(torch.randn(6, 20, 32), lengths, batch_first=True, enforce_sorted=False)
    outputs, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
    rows = [outputs[i, :n] for i, n in sorted(enumerate(lengths.tolist()), key=lambda item: -item[1])]
    _, state = gru(pack_sequence(rows))
    optimizer.zero_grad()
    loss = F.cross_entropy(head(state[-1]), torch.randint(0, 5, (6,)))
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(lstm, gru, head)
