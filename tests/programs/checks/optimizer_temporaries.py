"""Steps of optimizers that compute with all parameters at once."""

import torch
from torch import nn

from cases import main, negative, positive

WIDTH, LAYERS = 256, 8
PARAMETERS = LAYERS * (WIDTH * WIDTH + WIDTH) * 4  # and three scalars of the step


def trained(make, **options):
    torch.manual_seed(0)
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    optimizer = make(model.parameters(), **options)
    for _ in range(2):
        model(torch.randn(4, WIDTH)).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def fused_adam():
    trained(torch.optim.AdamW, fused=True)


@positive(bytes=PARAMETERS + 12, severity="info", fixed="fused_adam")
def foreach_adam():
    trained(torch.optim.AdamW, foreach=True)


@positive(bytes=2 * PARAMETERS + 12, severity="info")
def foreach_adadelta():
    trained(torch.optim.Adadelta, foreach=True)


@negative
def fused():
    fused_adam()


@negative
def one_after_the_other():
    trained(torch.optim.AdamW, foreach=False)


@negative
def foreach_sgd():
    """Adds the gradients in place."""
    trained(torch.optim.SGD, foreach=True, lr=0.1)


if __name__ == "__main__":
    main()
