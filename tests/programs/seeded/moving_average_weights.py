"""An average of the weights that is computed with gradients on: each step's hangs on that of the step before."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
averages = {name: p.detach().clone() for name, p in model.named_parameters()}
for _ in range(8):
    x = torch.randn(32, 256)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for name, p in model.named_parameters():
        averages[name] = 0.99 * averages[name] + p.sigmoid() * 0.01  # bug
        # fixed: averages[name] = 0.99 * averages[name] + p.detach().sigmoid() * 0.01
    print(f"{loss.item():.4f}")
