"""A GAN: two optimizers in turns, the discriminator's graph over detached pictures and then over live ones."""

import torch
from torch import nn
from torch.nn import functional as F

from common import finish, show, start

start()
generator = nn.Sequential(nn.ConvTranspose2d(16, 32, 4), nn.BatchNorm2d(32), nn.ReLU(),
                          nn.ConvTranspose2d(32, 3, 4, stride=4), nn.Tanh())
discriminator = nn.Sequential(nn.utils.parametrizations.spectral_norm(nn.Conv2d(3, 32, 4, stride=2)), nn.LeakyReLU(0.2),
                              nn.Flatten(), nn.Linear(32 * 49, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
of_discriminator = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
for step in range(3):
    real, noise = torch.randn(16, 3, 16, 16), torch.randn(16, 16, 1, 1)
    made = generator(noise)
    of_discriminator.zero_grad()
    loss = F.softplus(-discriminator(real)).mean() + F.softplus(discriminator(made.detach())).mean()
    loss.backward()
    of_discriminator.step()
    of_generator.zero_grad()
    cheated = F.softplus(-discriminator(made)).mean()
    cheated.backward()
    of_generator.step()
    show(step, loss, "discriminator")
    show(step, cheated, "generator")
finish(generator, discriminator)
