"""Eight heads over one input: the product broadcasts its input, and autograd saves the copies."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(32, 128)
        self.heads = nn.Parameter(torch.randn(8, 128, 16) * 0.1)
        self.norm = nn.LayerNorm(16)
        self.out = nn.Linear(16, 4)

    def forward(self, x):
        return self.out(self.norm(self.embed(x).unsqueeze(1) @ self.heads))


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(2):
    net(torch.randn(16, 64, 32)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
