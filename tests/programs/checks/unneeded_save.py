"""unneeded-save: fields that autograd saves for gradients that the program never requests."""

import torch
from torch import nn

from cases import main, negative, positive


def trained(model, parameters, steps=2):
    torch.manual_seed(0)
    x = torch.randn(8, 3, 64, 64)
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def frozen(module):
    return module.requires_grad_(False)


def convolutions(second):
    torch.manual_seed(0)
    first = nn.Conv2d(3, 16, 3, padding=1)
    model = nn.Sequential(first, second(nn.Conv2d(16, 16, 3, padding=1)))
    trained(model, [p for p in model.parameters() if p.requires_grad])


class FrozenConvolution(nn.Module):
    """Saves the weight and the sizes of its input. The gradient of the input needs nothing else."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias):
            ctx.save_for_backward(weight)
            ctx.size = x.size()
            return nn.functional.conv2d(x, weight, bias, padding=1)

        @staticmethod
        def backward(ctx, above):
            weight, = ctx.saved_tensors
            return nn.grad.conv2d_input(ctx.size, weight, above, padding=1), None, None

    def __init__(self, convolution):
        super().__init__()
        self.convolution = frozen(convolution)

    def forward(self, x):
        return self.Function.apply(x, self.convolution.weight, self.convolution.bias)


def fixed_frozen_convolution():
    convolutions(FrozenConvolution)


# 8 x 16 x 64 x 64 floats in each of the two steps.
@positive(bytes=2097152, occurrences=2, severity="warning", fixed="fixed_frozen_convolution")
def frozen_convolution():
    convolutions(frozen)


@negative
def trained_convolution():
    convolutions(lambda module: module)


# Only the bias is trained. Its gradient does not need the input either.
@positive(bytes=2097152, occurrences=2, severity="warning")
def convolution_with_a_trained_bias():
    def only_bias(module):
        module.weight.requires_grad_(False)
        return module
    convolutions(only_bias)


def normalised(mode):
    """A batch normalisation with frozen weights, behind a trained layer. An attribute of its node shows the mode."""
    torch.manual_seed(0)
    first, norm = nn.Conv2d(3, 16, 3, padding=1), frozen(nn.BatchNorm2d(16))
    norm.train(mode)
    trained(nn.Sequential(first, norm), first.parameters())


@positive(bytes=2097152, occurrences=2, severity="warning")
def frozen_batch_norm_in_eval():
    normalised(False)


@negative
def frozen_batch_norm_in_training():
    normalised(True)


# No memory is saved: the gradient of tanh reads its result.
@negative
def frozen_convolution_of_what_is_needed_elsewhere():
    torch.manual_seed(0)
    first = nn.Conv2d(3, 16, 3, padding=1)
    trained(nn.Sequential(first, nn.Tanh(), frozen(nn.Conv2d(16, 16, 3, padding=1))), first.parameters())


if __name__ == "__main__":
    main()
