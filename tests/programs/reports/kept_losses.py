"""The result of a mean loss has the storage of all its summands: a list of losses keeps one for each step."""
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
    losses.append(loss)
print(sum(losses).item())
