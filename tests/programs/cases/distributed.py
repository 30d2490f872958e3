"""distributed.py WHAT... [+ WHAT...]: for each WHAT, three steps of training in two processes that
torch.multiprocessing.spawn starts, with gloo on the CPU. Each process prints the bits of its losses and of its shard of
the parameters. The environment does not show the ranks."""

import hashlib
import sys
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn import functional as F

WORLD, STEPS, BATCH, WIDTH = 2, 3, 64, 256


class Gated(nn.Module):
    """A product with a parameter. Its gradient needs a tensor that a cheap operator recomputes from the parameter."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.w = nn.Parameter(torch.randn(WIDTH, WIDTH))

    def forward(self, x):
        return x + self.b(torch.sigmoid(self.a(x)) * self.w)


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.first(x)).chunk(3, -1)
        scores = torch.softmax(q @ k.transpose(-1, -2) / 16, -1)
        x = x + self.out(F.dropout(scores, 0.1) @ v)
        return x + self.down(F.gelu(self.up(self.second(x))))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(x)))


def sharded(model, words):
    from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
    options = {}
    if "kept" in words:
        options["reshard_after_forward"] = False
    if "mixed" in words:
        options["mp_policy"] = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    if "offloaded" in words:
        options["offload_policy"] = CPUOffloadPolicy(pin_memory=False)
    for block in model:
        if "nested" in words:
            for linear in [m for m in block.modules() if isinstance(m, nn.Linear)]:
                fully_shard(linear, **options)
        fully_shard(block, **options)
    return fully_shard(model, **options)


def split(model):
    """Tensor parallelism: one product is split by rows, the other by columns."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh = init_device_mesh("cpu", (WORLD,))
    for block in model:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def digest(tensors):
    return hashlib.sha256(b"".join(local(t).detach().contiguous().numpy().tobytes() for t in tensors)).hexdigest()[:16]


def train(rank, words):
    torch.manual_seed(0)
    kind = Transformer if "transformer" in words else Dense if "split" in words else Gated
    model = nn.Sequential(*(kind() for _ in range(3)))
    whole = sum(p.numel() for p in model.parameters())
    if "fsdp" in words:
        model = sharded(model, words)
        assert sum(local(p).numel() for p in model.parameters()) < whole
    elif "split" in words:
        model = split(model)
    elif "ddp" in words:
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(1 if "split" in words else 1 + rank)
    shape = (4, BATCH, WIDTH) if kind is Transformer else (WIDTH, WIDTH)
    losses = []
    for _ in range(STEPS):
        x = torch.randn(shape)
        with torch.autocast("cpu", torch.bfloat16, enabled="autocast" in words):
            y = model(x)
        loss = y.float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    line = [*words, f"rank {rank}:", *(loss.hex() for loss in losses), digest(model.parameters())]
    print(" ".join(line) + "\n", end="", flush=True)


def main(rank, arguments, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=WORLD)
    for words in " ".join(arguments).split("+"):
        train(rank, words.split())
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, (sys.argv[1:], folder), nprocs=WORLD)
