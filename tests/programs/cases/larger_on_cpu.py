"""Trains on CUDA, and holds far more memory on the CPU: larger_on_cpu.py [SIZE] [--compile]."""

import argparse

import torch

WIDTH = 256
parser = argparse.ArgumentParser()
parser.add_argument("size", type=int, nargs="?", default=1)
parser.add_argument("--compile", action="store_true")
parser.add_argument("--steps", type=int, default=3)
args = parser.parse_args()
torch.manual_seed(0)
dataset = torch.ones(200 << 18)  # 200 MiB
net = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()) for _ in range(4)]).cuda()
forward = torch.compile(net, backend="aot_eager") if args.compile else net
optimizer = torch.optim.Adam(net.parameters())
for _ in range(args.steps):
    batch = dataset[:args.size * 1024 * WIDTH].view(-1, WIDTH).cuda()
    forward(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
