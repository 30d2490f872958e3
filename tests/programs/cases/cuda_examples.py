"""Ordinary training on CUDA, with larger tensors than the samples: one product in three forms, an MLP, GPT-2 and
ResNet-50 in autocast, a vision transformer in three precisions."""

import contextlib

import torch
from torch.nn import functional as F

import cuda_stats

EXAMPLES = {}


def example(function):
    EXAMPLES[function.__name__] = function
    return function


@example
def products():
    x = torch.empty(8192, 512).requires_grad_().cuda()
    w = torch.empty(8, 64, 64, device="cuda")
    torch.matmul(x.view(8192, 8, 1, 64), w)
    torch.matmul(x.view(8192, 1, 512), torch.empty(512, 512, device="cuda"))
    torch.bmm(x.view(8192, 8, 64).transpose(0, 1), w)


@example
def mlp():
    net = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(4)]).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    x = torch.randn(1024, 1024, device="cuda")
    for _ in range(2):
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()


@example
def gpt2_autocast():
    from transformers import GPT2Config, GPT2LMHeadModel
    with torch.device("cuda"):
        net = GPT2LMHeadModel(GPT2Config(n_layer=4, n_embd=512, n_head=8))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randint(0, 50257, (2, 256), device="cuda")
    for _ in range(2):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = net(x, labels=x).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@example
def resnet50_autocast():
    from torchvision.models import resnet50
    with torch.device("cuda"):
        net, x, y = resnet50(), torch.randn(8, 3, 224, 224), torch.randint(0, 1000, (8,))
    optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()


@example
def vit_precisions():
    from torchvision.models import VisionTransformer
    for dtype in (None, torch.bfloat16, torch.float16):
        net = VisionTransformer(image_size=64, patch_size=8, num_layers=3, num_heads=4, hidden_dim=256, mlp_dim=1024).cuda()
        optimizer = torch.optim.Adam(net.parameters(), lr=5e-5)
        for _ in range(2):
            x, y = torch.randn(8, 3, 64, 64).cuda(), torch.randint(0, 10, (8,)).cuda()
            with torch.autocast("cuda", dtype=dtype) if dtype else contextlib.nullcontext():
                loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


@example
def checkpointed():
    from torch.utils.checkpoint import checkpoint
    layers = torch.nn.ModuleList(torch.nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(4)).cuda()
    x = torch.randn(4, 128, 256, device="cuda", requires_grad=True)
    y = x
    for layer in layers:
        y = checkpoint(layer, y, use_reentrant=False)
    y.square().mean().backward()


if __name__ == "__main__":
    cuda_stats.run(EXAMPLES)
