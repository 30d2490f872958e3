"""The gradients of the last training step stay alive through the evaluation."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    for _ in range(3):
        batch = torch.randn(16, 1024)
        nn.functional.mse_loss(model(batch), batch).backward()
        optimizer.step()
        optimizer.zero_grad()
    with torch.no_grad():
        for _ in range(3):
            batch = torch.randn(4096, 1024)
            loss = nn.functional.mse_loss(model(batch), batch)
print(loss.item())
