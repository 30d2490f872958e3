"""A variational autoencoder, as in the examples of PyTorch."""
import torch
from torch import nn, optim
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(784, 400)
        self.mean, self.log_variance = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        hidden = F.relu(self.encoder(x.view(-1, 784)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        sample = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(sample), mean, log_variance


def loss_of(recon, mean, log_variance, x):
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return F.binary_cross_entropy_with_logits(recon, x.view(-1, 784), reduction="sum") + divergence


def main():
    torch.manual_seed(1)
    loader = DataLoader(TensorDataset(torch.rand(256, 1, 28, 28)), batch_size=64, shuffle=True)
    model = VAE()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(2):
        model.train()
        total = 0.0
        for (data,) in loader:
            optimizer.zero_grad()
            loss = loss_of(*model(data), data)
            loss.backward()
            total += loss.item()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            test = sum(loss_of(*model(data), data).item() for (data,) in loader)
        print(epoch, total / 256, test / 256)


main()
