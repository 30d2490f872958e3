"""Jacobian descent: one loss an example, gradients aggregated so that none of them gets worse."""
import torch
from torch import nn
from torchjd.aggregation import UPGrad
from torchjd.autojac import backward, jac_to_grad

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                      nn.Dropout(0.1), nn.Linear(32 * 14 * 14, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
aggregator = UPGrad()
for step in range(5):
    losses = nn.functional.cross_entropy(model(torch.randn(8, 3, 32, 32)), torch.randint(10, (8,)), reduction="none")
    backward(losses)
    jac_to_grad(model.parameters(), aggregator)
    optimizer.step()
    optimizer.zero_grad()
    print(step, losses.mean().item())
