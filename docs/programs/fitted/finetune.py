"""Trains GPT-2 of transformers with bfloat16 autocast and AdamW. Nothing is downloaded."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
with torch.device("cuda"):
    model = GPT2LMHeadModel(GPT2Config()).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for step in range(4):
    tokens = torch.randint(0, 50257, (4, 1024), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(tokens, labels=tokens).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"peak {torch.cuda.max_memory_allocated()} bytes")
