"""A neural differential equation, by the adjoint method and directly."""
import torch
from torch import nn
from torchdiffeq import odeint, odeint_adjoint

torch.manual_seed(0)
torch.set_num_threads(1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 64))

    def forward(self, time, state):
        return self.net(state) * torch.cos(time)


field, head = Field(), nn.Linear(64, 1)
optimizer = torch.optim.RMSprop([*field.parameters(), *head.parameters()], lr=1e-3)
times = torch.linspace(0.0, 1.0, 5)
for step in range(4):
    state, target = torch.randn(512, 64), torch.randn(512, 1)
    solve = odeint_adjoint if step % 2 else odeint
    loss = (head(solve(field, state, times, method="rk4")[-1]) - target).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
