"""Selective checkpointing: the results of matrix products are kept, all else is recomputed."""

import functools

import torch
from torch import nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from blocks import Block, data
from common import finish, show, start

KEPT = [torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default]


def policy(_context, operator, *_args, **_kwargs):
    return CheckpointPolicy.MUST_SAVE if operator in KEPT else CheckpointPolicy.PREFER_RECOMPUTE


start()
net = nn.ModuleList(Block(dropout=0.0) for _ in range(3))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
contexts = functools.partial(create_selective_checkpoint_contexts, policy)
for step in range(3):
    x = data()
    target = x.roll(1, 1)
    optimizer.zero_grad()
    for block in net:
        x = checkpoint(block, x, use_reentrant=False, context_fn=contexts)
    loss = (x - target).square().mean()
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
