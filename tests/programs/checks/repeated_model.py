"""New models while the old ones are alive."""

import gc

import torch
from torch import nn

from cases import main, negative, positive

WIDTH, TRIALS = 512, 6
MODEL = WIDTH * WIDTH * 4 + WIDTH * 4


class Remembers(nn.Module):
    """The module and its hook refer to each other."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        self.layer.register_forward_hook(lambda module, args, output: self.remember(output))

    def remember(self, output):
        self.shape = output.shape

    def forward(self, x):
        return self.layer(x)


class Forgets(Remembers):
    def __init__(self):
        super().__init__()
        self.layer._forward_hooks.clear()


def searched(make, keep=None):
    torch.manual_seed(0)
    gc.disable()
    x = torch.randn(4, WIDTH)
    for _ in range(TRIALS):
        net = make()
        if keep is not None:
            keep.append(net)
        with torch.no_grad():
            net(x)


def without_the_hook():
    searched(Forgets)


@positive(bytes=(TRIALS - 1) * MODEL, severity="info", fixed="without_the_hook")
def hooks_that_refer_to_the_model():
    searched(Remembers)


@positive(bytes=(TRIALS - 1) * MODEL, severity="info")
def a_list_of_all():
    searched(Forgets, [])


@negative
def one_after_the_other():
    without_the_hook()


@negative
def an_ensemble():
    torch.manual_seed(0)
    nets = [Forgets() for _ in range(TRIALS)]
    with torch.no_grad():
        print(sum(net(torch.randn(4, WIDTH)).sum() for net in nets))


@negative
def layers_of_one_model():
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(TRIALS)])
    net(torch.randn(4, WIDTH)).sum().backward()


if __name__ == "__main__":
    main()
