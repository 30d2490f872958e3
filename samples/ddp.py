"""Data parallel on two ranks with gloo: torchrun --nproc-per-node 2 samples/ddp.py"""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from common import parse, pick, show


def train(args):
    width, batch = pick(args.size, (32, 8), (512, 64), (2048, 256))
    rank = dist.get_rank()
    net = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
    model = DistributedDataParallel(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    source = torch.Generator().manual_seed(args.seed * 1000 + rank)
    for step in range(args.steps):
        x = torch.randn(batch, width, generator=source)
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), x)
        loss.backward()
        optimizer.step()
        mean = loss.detach().clone()
        dist.all_reduce(mean)
        if rank == 0:
            show(step, mean / dist.get_world_size())


def main():
    args = parse(__doc__)
    dist.init_process_group("gloo")
    train(args)
    dist.barrier()  # no rank leaves while the other still talks to it
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
