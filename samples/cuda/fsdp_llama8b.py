"""A model of Llama 3 8B's sizes under FSDP2, each layer checkpointed, in bfloat16 with float32 parameters.

On eight GPUs:          torchrun --nproc-per-node 8 samples/cuda/fsdp_llama8b.py
As rank 0 of such ones: tapelens record --gpu H100 --world 8 -- python samples/cuda/fsdp_llama8b.py"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


def rotate(x, angles):
    """Rotary positions: pairs of a head's elements, turned by an angle each."""
    a, b = x.float().chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1).type_as(x)


class Attention(nn.Module):
    def __init__(self, width, heads, groups):
        super().__init__()
        self.size = width // heads
        self.q, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))

    def forward(self, x, angles):
        q, k, v = (layer(x).unflatten(-1, (-1, self.size)).transpose(1, 2) for layer in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(rotate(q, angles), rotate(k, angles), v, is_causal=True, enable_gqa=True)
        return self.out(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, width, hidden, heads, groups):
        super().__init__()
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.attention = Attention(width, heads, groups)
        self.gate, self.up = nn.Linear(width, hidden, bias=False), nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x, angles):
        x = x + self.attention(self.norm1(x), angles)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocabulary=128256, width=4096, hidden=14336, heads=32, groups=8, layers=32):
        super().__init__()
        self.size = width // heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.layers = nn.ModuleList(Layer(width, hidden, heads, groups) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1], device=tokens.device, dtype=torch.float32)
        turns = 500000.0 ** -(torch.arange(0, self.size, 2, device=tokens.device) / self.size)
        angles = torch.outer(places, turns)
        x = self.tokens(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, angles, use_reentrant=False)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--length", type=int, default=4096)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="each layer with torch.compile")
    args = parser.parse_args()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    torch.manual_seed(dist.get_rank())

    with torch.device("meta"):  # no rank ever holds the whole model
        model = Llama(layers=args.layers)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in model.layers:
        if args.compile:
            layer.compile()
        fully_shard(layer, mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    model.to_empty(device="cuda")
    with torch.no_grad():  # each rank its own part
        for name, parameter in model.named_parameters():
            own = parameter.to_local()
            own.fill_(1) if "norm" in name else own.normal_(std=0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, weight_decay=0.1)

    for step in range(args.steps):
        tokens = torch.randint(0, 128256, (1, args.length + 1), device="cuda")
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1).float(), tokens[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if dist.get_rank() == 0:
            print(f"step {step} loss {loss.item()!r}", flush=True)
    if dist.get_rank() == 0:
        print(f"peak {torch.cuda.max_memory_allocated()} bytes, as PyTorch counts them")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
