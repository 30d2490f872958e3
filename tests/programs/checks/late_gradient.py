"""Optimizers that wait for all gradients, optimizers that do not, and optimizers that must."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

WIDTH, LAYERS, BATCH = 512, 8, 256
WEIGHTS = 4 * (LAYERS * (WIDTH * WIDTH + WIDTH) + 10 * WIDTH + 10)  # bytes of all parameters, and of their gradients


def make():
    torch.manual_seed(0)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.Sigmoid())]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 10))


def loss_of(model):
    return F.cross_entropy(model(torch.randn(BATCH, WIDTH)), torch.randint(0, 10, (BATCH,)))


def train(kind, count=3, **options):
    model = make()
    optimizer = kind(model.parameters(), **options)
    for _ in range(count):
        loss_of(model).backward()
        optimizer.step()
        optimizer.zero_grad()


def train_in_backward(kind, count=3, **options):
    model = make()

    def step(parameter, optimizer):
        optimizer.step()
        parameter.grad = None

    for parameter in model.parameters():
        own = kind([parameter], **options)
        parameter.register_post_accumulate_grad_hook(lambda p, own=own: step(p, own))
    for _ in range(count):
        loss_of(model).backward()


def sgd_fixed():
    train_in_backward(torch.optim.SGD, lr=0.1)


@positive(bytes=WEIGHTS, severity="info", fixed="sgd_fixed")
def sgd():
    train(torch.optim.SGD, lr=0.1)


def adam_fixed():
    train_in_backward(torch.optim.Adam, foreach=False)


@positive(bytes=WEIGHTS, severity="info", fixed="adam_fixed")
def adam():
    train(torch.optim.Adam, foreach=False)


def momentum_fixed():
    train_in_backward(torch.optim.SGD, lr=0.1, momentum=0.9, foreach=True)


@positive(bytes=WEIGHTS, severity="info", fixed="momentum_fixed")
def momentum_of_all_at_once():
    train(torch.optim.SGD, lr=0.1, momentum=0.9, foreach=True)


@negative
def in_backward():
    adam_fixed()


@negative
def clipped():
    """The norm needs all of them."""
    model = make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss_of(model).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


@positive(bytes=4 * (1024 * 1024 + 1024), severity="info", title="gradients stay allocated until optimizer.step()")
def models_of_equal_names():
    """Parameters of one name and of several sizes are no shards of each other."""
    torch.manual_seed(0)
    small, large = nn.Sequential(nn.Linear(64, 256)), nn.Sequential(nn.Linear(1024, 1024))
    optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (small, large)]
    for _ in range(3):
        large(torch.randn(BATCH, 1024)).square().mean().backward()
        small(torch.randn(BATCH, 64)).square().mean().backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()


@negative
def few_weights():
    """Gradients that are small compared with the activations."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(10))
    model(torch.randn(2, 3, 32, 32))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        F.cross_entropy(model(torch.randn(64, 3, 32, 32)), torch.randint(0, 10, (64,))).backward()
        optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    main()
