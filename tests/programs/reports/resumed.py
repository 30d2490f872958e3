"""Training goes on from a checkpoint, which stays in its variable."""
import io

import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256))


torch.manual_seed(0)
file = io.BytesIO()
torch.save({"model": build().state_dict(), "step": 40}, file)
file.seek(0)

checkpoint = torch.load(file)
model = build()
model.load_state_dict(checkpoint["model"])
first = checkpoint["step"]
optimizer = torch.optim.AdamW(model.parameters())


def train(step):
    x = torch.randn(32, 256)
    loss = nn.functional.mse_loss(model(x), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, round(loss.item(), 4))


for step in range(first, first + 3):
    train(step)
