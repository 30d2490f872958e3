"""A batch that is multiplied with a small matrix for each head: matmul copies the batch for every head."""
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self, heads=4, width=64):
        super().__init__()
        self.mix = nn.Parameter(torch.randn(heads, width, width) / width)

    def forward(self, x):
        return torch.matmul(x.unsqueeze(1), self.mix).mean(1)  # bug
        # fixed: wide = nn.functional.linear(x, self.mix.transpose(1, 2).flatten(0, 1))
        # fixed: return wide.view(*x.shape[:2], len(self.mix), -1).mean(2)


torch.manual_seed(0)
model = Mixer()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    x = torch.randn(16, 256, 64)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
