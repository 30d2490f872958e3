"""A generative adversarial network, as in the examples of PyTorch: the discriminator sees detached images."""
import torch
from torch import nn, optim


def main():
    torch.manual_seed(1)
    generator = nn.Sequential(
        nn.ConvTranspose2d(32, 64, 4, 1, 0, bias=False), nn.BatchNorm2d(64), nn.ReLU(True),
        nn.ConvTranspose2d(64, 32, 4, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU(True),
        nn.ConvTranspose2d(32, 3, 4, 2, 1, bias=False), nn.Tanh())
    discriminator = nn.Sequential(
        nn.Conv2d(3, 32, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(32, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.LeakyReLU(0.2, inplace=True),
        nn.Conv2d(64, 1, 4, 1, 0, bias=False), nn.Sigmoid(), nn.Flatten(0))
    criterion = nn.BCELoss()
    of_d = optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    of_g = optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    fixed_noise = torch.randn(16, 32, 1, 1)
    for step in range(4):
        real = torch.rand(16, 3, 16, 16) * 2 - 1
        label = torch.full((16,), 1.0)
        discriminator.zero_grad()
        error_real = criterion(discriminator(real), label)
        error_real.backward()
        fake = generator(torch.randn(16, 32, 1, 1))
        label.fill_(0.0)
        error_fake = criterion(discriminator(fake.detach()), label)
        error_fake.backward()
        of_d.step()
        generator.zero_grad()
        label.fill_(1.0)
        error_g = criterion(discriminator(fake), label)
        error_g.backward()
        of_g.step()
        print(step, (error_real + error_fake).item(), error_g.item())
    with torch.no_grad():
        print(generator(fixed_noise).mean().item())


main()
