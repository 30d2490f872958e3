"""Custom functions that keep tensors on ctx, and functions that keep other objects there."""

import torch

from cases import main, negative, positive

ROWS, COLUMNS = 512, 1024
BYTES = 4 * ROWS * COLUMNS


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.masks = [{"mask": (x > 0).to(x.dtype)}]
        return x * ctx.masks[0]["mask"]

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.masks[0]["mask"]


class Saving(torch.autograd.Function):
    """The tensors on ctx are saved as well; the other attributes are small or not tensors."""

    @staticmethod
    def forward(ctx, x):
        ctx.mask, ctx.shape, ctx.scale = (x > 0).to(x.dtype), x.shape, torch.ones(1)
        ctx.save_for_backward(ctx.mask)
        return x * ctx.mask

    @staticmethod
    def backward(ctx, gradient):
        return gradient.view(ctx.shape) * ctx.saved_tensors[0] * ctx.scale


class Exponential(torch.autograd.Function):
    """Its own output on ctx: a cycle."""

    @staticmethod
    def forward(ctx, x):
        ctx.result = x.exp()
        return ctx.result

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.result


class Scaled(torch.autograd.Function):
    """A parameter on ctx is alive anyway."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.weight = weight
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        return gradient * ctx.weight, gradient


def train(function, steps, *more):
    torch.manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, requires_grad=True)
    for _ in range(steps):
        function.apply(x, *more).sum().backward()


@positive(bytes=BYTES, occurrences=3, severity="info")
def in_a_list():
    train(Masked, 3)


@positive(bytes=2 * BYTES, occurrences=2, severity="info")  # the first one is still alive when the second one is made
def own_output():
    train(Exponential, 2)


@negative
def saved_too():
    train(Saving, 3)


@negative
def a_parameter():
    train(Scaled, 2, torch.ones(ROWS, COLUMNS, requires_grad=True))


if __name__ == "__main__":
    main()
