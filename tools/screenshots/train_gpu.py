"""A training of a small transformer on a GPU, which in the end asks for more than there is: for the pictures of docs/gui.md."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, 8, batch_first=True)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        h = self.norm(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, layers=6, width=512, words=8000):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.head = nn.Linear(width, words)

    def forward(self, x):
        return self.head(self.layers(self.embed(x)))


def main():
    torch.manual_seed(0)
    net = Net().cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    side = torch.cuda.Stream()
    for step in range(4):
        with torch.cuda.stream(side):
            batch = torch.zeros(8, 256, dtype=torch.long, device="cuda")
            extra = torch.zeros(8 << 20, device="cuda")
        extra.record_stream(torch.cuda.current_stream())
        loss = nn.functional.cross_entropy(net(batch).flatten(0, 1), batch.flatten())
        del extra
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    try:
        torch.zeros(100 << 30, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass  # it is in the recording


main()
