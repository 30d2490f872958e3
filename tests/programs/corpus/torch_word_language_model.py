"""A recurrent language model, truncated: the hidden state is detached between the windows."""
import torch
from torch import nn


class RNNModel(nn.Module):
    def __init__(self, tokens, size):
        super().__init__()
        self.drop = nn.Dropout(0.2)
        self.encoder = nn.Embedding(tokens, size)
        self.rnn = nn.LSTM(size, size, 2, dropout=0.2)
        self.decoder = nn.Linear(size, tokens)

    def forward(self, tokens, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        return self.decoder(self.drop(output)).flatten(0, 1), hidden


def main():
    torch.manual_seed(1)
    text = torch.randint(0, 100, (101, 8))
    model = RNNModel(100, 64)
    criterion = nn.CrossEntropyLoss()
    hidden = (torch.zeros(2, 8, 64), torch.zeros(2, 8, 64))
    total = 0.0
    for begin in range(0, 100, 20):
        data, targets = text[begin:begin + 20], text[begin + 1:begin + 21].reshape(-1)
        model.zero_grad()
        hidden = tuple(part.detach() for part in hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(parameter.grad, alpha=-1.0)
        total += loss.item()
    print(total / 5)


main()
