"""A running mean of a metric carries the graphs of all steps, which no backward goes through."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 512), nn.Tanh(), nn.Linear(512, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
mean = torch.zeros(())
for step, batch in enumerate(torch.randn(8, 512, 64)):
    output = model(batch)
    loss = nn.functional.smooth_l1_loss(output, batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mean = mean + loss.item()
print(mean.item() / 8)
