"""torch.compile on CUDA: forward, backward and an optimizer step of Inductor's code, and its CUDA graphs."""

import torch

import cuda_stats


def train(mode):
    torch._dynamo.reset()
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 256)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    step = torch.compile(lambda x: net(x).square().mean(), mode=mode)
    x = torch.randn(64, 256, device="cuda")
    for _ in range(4):
        optimizer.zero_grad()
        step(x).backward()
        optimizer.step()


cuda_stats.run({mode: lambda mode=mode: train(mode) for mode in ("default", "reduce-overhead")})
