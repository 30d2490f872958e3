"""A loss of the mean has the memory of all that it is the mean of: a list of losses keeps that for each step."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(512, 512)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batch = torch.randn(1024, 512)
losses = []
for step in range(8):
    loss = nn.functional.mse_loss(model(batch), batch)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(sum(losses))
