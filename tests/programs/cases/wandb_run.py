"""A training that logs to Weights & Biases, offline. It logs the values of its steps at the end. Its argument: a
folder."""

import sys

import torch
import wandb

import tapelens

torch.manual_seed(0)
run = wandb.init(mode="offline", project="memory", dir=sys.argv[1])
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    loss = model(torch.ones(8, 64)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    wandb.log({"loss": loss.item()})
print("logged", tapelens.log_to_wandb(wandb.run))
run.finish()
