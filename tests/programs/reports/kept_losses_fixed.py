"""The result of a mean loss has the storage of all its summands: the list keeps numbers instead."""
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
