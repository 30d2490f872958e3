"""Gradients of DistributedDataParallel."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from cases import main, negative, positive

WIDTH, LAYERS = 256, 8
GRADIENTS = LAYERS * (WIDTH * WIDTH + WIDTH) * 4


def trained(zero_first=True, wrap=DistributedDataParallel, **options):
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    model = wrap(nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]), **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        if zero_first:
            optimizer.zero_grad()
        loss = model(torch.randn(4, WIDTH)).square().mean()
        if not zero_first:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()


def views():
    trained(gradient_as_bucket_view=True)


@positive(bytes=GRADIENTS, severity="info", fixed="views")
def copies():
    trained()


def views_that_outlive_the_first_buckets():
    trained(zero_first=False, gradient_as_bucket_view=True)


@positive(bytes=GRADIENTS, severity="info", fixed="views_that_outlive_the_first_buckets")
def copies_that_are_zeroed_late():
    trained(zero_first=False)


@negative
def views_of_buckets():
    views()


@negative
def without_ddp():
    trained(wrap=lambda model: model)


@negative
def frozen():
    """One parameter of many has a gradient."""
    torch.manual_seed(0)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    net = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    for parameter in net[:-1].parameters():
        parameter.requires_grad_(False)
    net[-1].weight.requires_grad_(False)
    DistributedDataParallel(net)(torch.randn(4, WIDTH)).square().mean().backward()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
