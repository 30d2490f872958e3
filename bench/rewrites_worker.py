"""One net of bench/rewrites.py: rewrites_worker.py NET STEPS|turns [--memsave-torch CHECKOUT], the latter with memsave_torch's
layers. Prints the loss of each step; with `turns` the wall clock and processor time of as many steps as each line of standard input says, ns.
rewrites_worker.py NET STEPS --cuda: on CUDA, with deterministic algorithms; prints one line of JSON of the last step: bytes that PyTorch's
allocator counted above those before it, when its backward began ("saved") and at the most ("peak"), the median time of the second
half of the steps, the parameters by the bit."""
import hashlib
import json
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)


def resnet(depth, size, trained, *, training=True, batch=4):
    import torchvision
    model = getattr(torchvision.models, f"resnet{depth}")(weights=None)
    for number, (name, parameter) in enumerate(model.named_parameters()):
        parameter.requires_grad_(trained(number, name))
    if not training:
        model.eval()
    return model, torch.randn(batch, 3, size, size)


class Block(nn.Module):
    """A pre-norm transformer block; attention written out, or PyTorch's own."""

    def __init__(self, width, heads, dropout, fused):
        super().__init__()
        self.heads, self.dropout, self.fused = heads, dropout, fused
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        if self.fused:
            mixed = F.scaled_dot_product_attention(q, k, v)
        else:
            weights = F.dropout(((q @ k.transpose(-1, -2)) / q.shape[-1] ** 0.5).softmax(-1), self.dropout, self.training)
            mixed = weights @ v
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + F.dropout(self.attend(self.norm1(x)), self.dropout, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), self.dropout, self.training)


def transformer(dropout, fused, length=256):
    return nn.Sequential(*(Block(256, 8, dropout, fused) for _ in range(4))), torch.randn(4, length, 256)


class LoRA(nn.Module):
    def __init__(self, inner, outer, rank=8):
        super().__init__()
        self.frozen = nn.Linear(inner, outer, bias=False).requires_grad_(False)
        self.a, self.b = nn.Linear(inner, rank, bias=False), nn.Linear(rank, outer, bias=False)

    def forward(self, x):
        return self.frozen(x) + self.b(self.a(x))


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width), requires_grad=False)

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Mistral(nn.Module):
    """Attention with rotary places and a gated feed-forward, as in Mistral; adapters on queries and values."""

    def __init__(self, width=256, heads=8):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.q, self.v = LoRA(width, width), LoRA(width, width)
        self.k, self.o = (nn.Linear(width, width, bias=False).requires_grad_(False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False).requires_grad_(False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False).requires_grad_(False)

    def split(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h))
        angles = torch.outer(torch.arange(x.shape[1], dtype=x.dtype), 1e4 ** -torch.linspace(0, 1, q.shape[-1] // 2)).repeat(1, 2)
        turn = lambda t: t * angles.cos() + torch.cat([-t[..., t.shape[-1] // 2:], t[..., : t.shape[-1] // 2]], -1) * angles.sin()
        mixed = F.scaled_dot_product_attention(turn(q), turn(k), v, is_causal=True)
        x = x + self.o(mixed.transpose(1, 2).reshape(x.shape))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class T5(nn.Module):
    """Attention written out with a bias for relative places, ReLU feed-forward, as in T5; adapters on queries and values."""

    def __init__(self, width=256, heads=8):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.q, self.v = LoRA(width, width), LoRA(width, width)
        self.k, self.o = (nn.Linear(width, width, bias=False).requires_grad_(False) for _ in range(2))
        self.wi = nn.Linear(width, 4 * width, bias=False).requires_grad_(False)
        self.wo = nn.Linear(4 * width, width, bias=False).requires_grad_(False)
        self.bias = nn.Parameter(torch.zeros(heads, 1, 1), requires_grad=False)

    split = Mistral.split

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = self.split(self.q(h)), self.split(self.k(h)), self.split(self.v(h))
        weights = F.dropout(F.softmax((q @ k.transpose(-1, -2) + self.bias).float(), dim=-1), 0.1, self.training)
        x = x + F.dropout(self.o((weights @ v).transpose(1, 2).reshape(x.shape)), 0.1, self.training)
        return x + F.dropout(self.wo(F.dropout(F.relu(self.wi(self.norm2(x))), 0.1, self.training)), 0.1, self.training)


def stack(block, count=4):
    return nn.Sequential(*(block() for _ in range(count))), torch.randn(4, 256, 256)


def mlp():
    layers = [layer for _ in range(6) for layer in (nn.Linear(512, 512), nn.LayerNorm(512), nn.GELU())]
    return nn.Sequential(*layers), torch.randn(2048, 512)


def mobilenet():
    import torchvision
    return torchvision.models.mobilenet_v3_small(weights=None), torch.randn(8, 3, 128, 128)


def frozen_stack(depth):
    layers = [nn.Conv2d(16, 16, 3, padding=1) for _ in range(depth)]
    for layer in layers[1:]:
        layer.requires_grad_(False)
    return nn.Sequential(*layers), torch.randn(4, 16, 64, 64)


NETS = {
    "resnet18-first": lambda: resnet(18, 224, lambda i, n: n == "conv1.weight", training=False),
    "resnet18-input": lambda: resnet(18, 224, lambda i, n: False),
    "resnet18-affine-frozen": lambda: resnet(18, 224, lambda i, n: "bn" not in n and "downsample.1" not in n, training=False),
    "resnet18-every-4th": lambda: resnet(18, 224, lambda i, n: i % 4 == 0),
    "resnet18-all": lambda: resnet(18, 224, lambda i, n: True),
    "resnet101-64": lambda: resnet(101, 224, lambda i, n: True, batch=64),
    "resnet101-64-first": lambda: resnet(101, 224, lambda i, n: n == "conv1.weight", training=False, batch=64),
    "resnet101-first": lambda: resnet(101, 224, lambda i, n: n == "conv1.weight", training=False, batch=2),
    "transformer-eager": lambda: transformer(0.1, False),
    "transformer-sdpa": lambda: transformer(0.0, True),
    "transformer-autocast": lambda: transformer(0.1, False),
    "t5-lora": lambda: stack(T5),
    "mistral-lora": lambda: stack(Mistral),
    "frozen-2": lambda: frozen_stack(2),
    "frozen-10": lambda: frozen_stack(10),
    "frozen-40": lambda: frozen_stack(40),
    "mlp-autocast": mlp,
    "mobilenet": mobilenet,
}
# The loss depends on the gradient of the input.
WANTS_INPUT = {"resnet18-input"}


def on_cuda(step, trained, steps):
    """`step(saved)` calls saved() at the begin of its backward."""
    requested = lambda of: torch.cuda.memory_stats()[f"requested_bytes.all.{of}"]
    seconds = []
    for _ in range(steps):
        torch.cuda.reset_peak_memory_stats()
        before, told = requested("current"), []
        torch.cuda.synchronize()
        begin = time.perf_counter()
        step(lambda: told.append(requested("current") - before))
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
    digest = hashlib.sha256(b"".join(p.detach().cpu().numpy().tobytes() for p in trained)).hexdigest()[:16]
    print(json.dumps({"saved": told[0], "peak": requested("peak") - before, "seconds": statistics.median(seconds[steps // 2:]), "digest": digest}), flush=True)
    os._exit(0)  # leaves out the interpreter's shutdown


def main():
    name, steps = sys.argv[1:3]
    device = "cuda" if "--cuda" in sys.argv else "cpu"
    if device == "cuda":
        torch.set_default_device(device)
        torch.use_deterministic_algorithms(True)
    torch.manual_seed(0)
    model, x = NETS[name]()
    if "--memsave-torch" in sys.argv:
        sys.path.insert(0, sys.argv[-1])
        from memsave_torch.nn import convert_to_memory_saving
        model = convert_to_memory_saving(model)
    trained = [p for p in model.parameters() if p.requires_grad]
    if name in WANTS_INPUT:
        x = nn.Parameter(x)
        trained = [x]
    optimizer = torch.optim.SGD(trained, lr=1e-3)

    def step(begins_backward=None):
        begin, cpu = time.perf_counter_ns(), time.process_time_ns()
        with torch.autocast(device, torch.bfloat16, enabled="autocast" in name):
            loss = model(x).float().mean()
        if begins_backward is not None:
            loss.register_hook(lambda _: begins_backward())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.perf_counter_ns() - begin, time.process_time_ns() - cpu, loss.item()

    if device == "cuda":
        on_cuda(step, trained, int(steps))
    if steps != "turns":
        for _ in range(int(steps)):
            print("loss", step()[-1])
        return
    for turn in sys.stdin:
        print(json.dumps([step() for _ in range(int(turn))]), flush=True)


if __name__ == "__main__":
    main()
