"""The critic's step keeps the maker's activations, and goes back through the maker for gradients that its optimizer drops."""
import torch
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 256))
critic = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 1))
maker_optimizer = torch.optim.Adam(maker.parameters(), lr=1e-4)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-4)


def critic_step(real):
    made = maker(torch.randn(len(real), 64))
    loss = critic(made).mean() - critic(real).mean()
    critic_optimizer.zero_grad()
    loss.backward()
    critic_optimizer.step()
    return loss.item()


def maker_step(count):
    loss = -critic(maker(torch.randn(count, 64))).mean()
    maker_optimizer.zero_grad()
    loss.backward()
    maker_optimizer.step()
    return loss.item()


for step in range(3):
    print(critic_step(torch.randn(2048, 256)), maker_step(512))
