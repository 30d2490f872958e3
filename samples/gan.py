"""A GAN: two networks, two optimizers, and a generated batch whose graph outlives the discriminator's step."""

import torch
from torch import nn
from torch.nn import functional as F

from common import parse, pick, show


def generator(latent, width):
    return nn.Sequential(
        nn.ConvTranspose2d(latent, 2 * width, 4), nn.BatchNorm2d(2 * width), nn.ReLU(True),
        nn.ConvTranspose2d(2 * width, width, 4, 2, 1), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def discriminator(width):
    return nn.Sequential(
        nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.utils.parametrizations.spectral_norm(nn.Conv2d(width, 2 * width, 4, 2, 1)), nn.LeakyReLU(0.2, True),
        nn.Conv2d(2 * width, 1, 4), nn.Flatten())


def main():
    args = parse(__doc__)
    latent, width, batch = pick(args.size, (8, 8, 4), (64, 64, 32), (128, 128, 64))
    make, judge = generator(latent, width), discriminator(width)
    make_optimizer = torch.optim.Adam(make.parameters(), lr=2e-4, betas=(0.5, 0.999))
    judge_optimizer = torch.optim.Adam(judge.parameters(), lr=2e-4, betas=(0.5, 0.999))
    real_label, fake_label = torch.ones(batch, 1), torch.zeros(batch, 1)
    for step in range(args.steps):
        real = torch.rand(batch, 3, 16, 16) * 2 - 1
        fake = make(torch.randn(batch, latent, 1, 1))
        judge_optimizer.zero_grad()
        judge_loss = (F.binary_cross_entropy_with_logits(judge(real), real_label) +
                      F.binary_cross_entropy_with_logits(judge(fake.detach()), fake_label))
        judge_loss.backward()
        judge_optimizer.step()
        make_optimizer.zero_grad()
        make_loss = F.binary_cross_entropy_with_logits(judge(fake), real_label)
        make_loss.backward()
        make_optimizer.step()
        show(step, judge_loss, "discriminator")
        show(step, make_loss, "generator")


if __name__ == "__main__":
    main()
