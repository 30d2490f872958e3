"""Checkpoints over too many layers."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from cases import main, negative, positive

ROWS, WIDTH, INNER, LAYERS = 512, 64, 1024, 8


def layers(count=LAYERS):
    torch.manual_seed(0)
    return nn.Sequential(*[nn.Sequential(nn.Linear(WIDTH, INNER), nn.GELU(), nn.Linear(INNER, WIDTH))
                           for _ in range(count)])


def trained(run, stack, steps=2):
    for _ in range(steps):
        run(stack, torch.randn(ROWS, WIDTH, requires_grad=True)).sum().backward()
        stack.zero_grad()


def each(stack, x):
    for layer in stack:
        x = checkpoint(layer, x, use_reentrant=False)
    return x


def one(stack, x):
    return checkpoint(stack, x, use_reentrant=False)


def loop(stack, x):
    def body(x):
        for layer in stack:
            x = layer(x)
        return x

    return checkpoint(body, x, use_reentrant=False)


def checkpointed_each():
    trained(each, layers())


@positive(bytes=33554432, severity="info", fixed="checkpointed_each")
def one_module():
    trained(one, layers())


@positive(bytes=33554432, severity="info", fixed="checkpointed_each")
def one_loop():
    trained(loop, layers())


def as_many_segments():
    trained(lambda stack, x: checkpoint_sequential(stack, 7, x, use_reentrant=False), layers(7))


@positive(bytes=3 * 2 * ROWS * INNER * 4, severity="info", fixed="as_many_segments")
def rest_in_the_last_segment():
    trained(lambda stack, x: checkpoint_sequential(stack, 4, x, use_reentrant=False), layers(7))


@negative
def a_checkpoint_each():
    checkpointed_each()


@negative
def a_segment_each():
    as_many_segments()


@negative
def without_checkpoints():
    trained(lambda stack, x: stack(x), layers())


@negative
def one_layer():
    trained(one, layers(1))


if __name__ == "__main__":
    main()
