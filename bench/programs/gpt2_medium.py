"""GPT-2 medium of transformers, trained in bfloat16 autocast on CUDA."""

import argparse
import functools

import torch
from torch.utils.checkpoint import checkpoint
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--checkpoint", choices=["blocks", "mlps"], help="compute their activations again in the backward")
args = parser.parse_args()
torch.manual_seed(0)
with torch.device("cuda"):
    model = GPT2LMHeadModel(GPT2Config(n_embd=1024, n_layer=24, n_head=16, use_cache=False)).train()
if args.checkpoint:
    for block in model.transformer.h:
        part = block if args.checkpoint == "blocks" else block.mlp
        part.forward = functools.partial(checkpoint, part.forward, use_reentrant=False)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
for _ in range(args.steps):
    tokens = torch.randint(0, 50257, (args.batch, 1024), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done")
