"""Stochastic variational inference of a variational autoencoder, in the manner of Pyro; the epoch's loss is a sum of tensors."""
import torch
from torch import distributions, nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, pixels=784, hidden=400, latent=20):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, hidden), nn.Softplus())
        self.loc, self.log_scale = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, hidden), nn.Softplus(), nn.Linear(hidden, pixels))

    def guide(self, x):
        hidden = self.encoder(x)
        return distributions.Normal(self.loc(hidden), self.log_scale(hidden).exp())

    def elbo(self, x):
        posterior = self.guide(x)
        z = posterior.rsample()
        likelihood = -F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="none").sum(1)
        prior = distributions.Normal(torch.zeros_like(z), torch.ones_like(z))
        return (likelihood - distributions.kl_divergence(posterior, prior).sum(1)).mean()


class SVI:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def step(self, x):
        loss = -self.model.elbo(x)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


torch.manual_seed(0)
vae = VAE()
svi = SVI(vae, torch.optim.Adam(vae.parameters(), lr=1e-3))
epoch_loss = 0.0
for batch in torch.rand(1024, 784).split(128):
    epoch_loss += svi.step(batch)
print(f"{epoch_loss.item() / 8:.1f}")
