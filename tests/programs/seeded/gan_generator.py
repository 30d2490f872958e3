"""The discriminator's step of a GAN, which differentiates the generator as well."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(64, 512), nn.Sigmoid(), nn.Linear(512, 512), nn.Sigmoid(), nn.Linear(512, 128))
discriminator = nn.Sequential(nn.Linear(128, 64), nn.Sigmoid(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(discriminator.parameters())
for _ in range(4):
    noise = torch.randn(1024, 64)
    verdict = discriminator(generator(noise))  # bug
    loss = F.binary_cross_entropy_with_logits(verdict, torch.zeros(1024, 1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
