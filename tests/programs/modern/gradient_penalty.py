"""Double backward: a critic whose gradient by its input has a penalty (WGAN-GP)."""

import torch
from torch import nn

from common import finish, show, start

start()
critic = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Softplus(), nn.Conv2d(16, 16, 3, stride=2), nn.Tanh(),
                       nn.Flatten(), nn.Linear(16 * 49, 64), nn.ELU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
for step in range(3):
    real, made = torch.randn(16, 3, 16, 16), torch.rand(16, 3, 16, 16)
    between = torch.lerp(real, made, torch.rand(16, 1, 1, 1)).requires_grad_()
    optimizer.zero_grad()
    (gradient,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    penalty = (gradient.flatten(1).norm(dim=1) - 1).square().mean()
    loss = critic(made).mean() - critic(real).mean() + 10 * penalty
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(critic)
