"""Matrix factorisation with sparse gradients."""
import torch
from torch import nn


class Factors(nn.Module):
    def __init__(self, users, items, size):
        super().__init__()
        self.user, self.item = nn.Embedding(users, size, sparse=True), nn.Embedding(items, size, sparse=True)

    def forward(self, users, items):
        return (self.user(users) * self.item(items)).sum(1)


def main():
    torch.manual_seed(1)
    model = Factors(2000, 1000, 32)
    optimizer = torch.optim.SparseAdam(model.parameters(), lr=0.01)
    for epoch in range(4):
        users, items = torch.randint(0, 2000, (512,)), torch.randint(0, 1000, (512,))
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(users, items), torch.rand(512) * 5)
        loss.backward()
        optimizer.step()
        print(epoch, loss.item())


main()
