"""GPT-2 medium of transformers, trained in bfloat16 autocast on CUDA."""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(0)
with torch.device("cuda"):
    model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False)).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(args.steps):
    tokens = torch.randint(0, 50257, (args.batch, 1024), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")
