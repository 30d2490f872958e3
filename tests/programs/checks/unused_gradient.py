"""Backwards through parts that are not trained, and backwards that need every part."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cases import main, negative, positive

WIDTH, BATCH = 256, 1024
SAVED = 4 * WIDTH * BATCH  # bytes of one activation


def body(inputs, outputs, depth=4):
    layers = [layer for _ in range(depth) for layer in (nn.Linear(WIDTH, WIDTH), nn.Sigmoid())]
    return nn.Sequential(nn.Linear(inputs, WIDTH), nn.Sigmoid(), *layers, nn.Linear(WIDTH, outputs))


def step(optimizer, loss):
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def adversarial(make_fake, count=3):
    torch.manual_seed(0)
    make, judge = body(16, 64), body(64, 1)
    make_optimizer = torch.optim.SGD(make.parameters(), lr=0.1)
    judge_optimizer = torch.optim.SGD(judge.parameters(), lr=0.1)
    for _ in range(count):
        real, fake = torch.randn(BATCH, 64), make_fake(make, torch.randn(BATCH, 16))
        step(judge_optimizer, F.softplus(judge(fake)).mean() + F.softplus(-judge(real)).mean())
        del fake
        judge.requires_grad_(False)
        step(make_optimizer, F.softplus(-judge(make(torch.randn(BATCH, 16)))).mean())
        judge.requires_grad_(True)


def without_gradients(make, noise):
    with torch.no_grad():
        return make(noise)


def generator_fixed():
    adversarial(without_gradients)


# The generator's five activations and its noise, in the discriminator's step.
@positive(bytes=5 * SAVED + 4 * BATCH * 16, severity="warning", fixed="generator_fixed")
def generator():
    adversarial(lambda make, noise: make(noise))


def distil(teach, count=3):
    torch.manual_seed(0)
    teacher, student = body(64, 32), body(64, 32, depth=1)
    optimizer = torch.optim.SGD(student.parameters(), lr=0.1)
    for _ in range(count):
        inputs = torch.randn(BATCH, 64)
        step(optimizer, F.mse_loss(student(inputs), teach(teacher, inputs)))


def teacher_fixed():
    distil(without_gradients)


@positive(bytes=5 * SAVED, severity="warning", fixed="teacher_fixed")
def teacher():
    distil(lambda net, inputs: net(inputs))


def tune(features, count=3):
    torch.manual_seed(0)
    backbone, head = body(64, WIDTH), nn.Linear(WIDTH, 4)
    optimizer = torch.optim.Adam(head.parameters())
    for _ in range(count):
        inputs, labels = torch.randn(BATCH, 64), torch.randint(0, 4, (BATCH,))
        step(optimizer, F.cross_entropy(head(features(backbone, inputs)), labels))


def backbone_fixed():
    tune(without_gradients)


@positive(bytes=5 * SAVED, severity="warning", fixed="backbone_fixed")
def backbone():
    tune(lambda net, inputs: net(inputs))


@negative
def generator_detached():
    adversarial(lambda make, noise: make(noise).detach())


@negative
def adversarial_example():
    """The program requests the gradient of the input, and zeroes those of the weights."""
    torch.manual_seed(0)
    net = body(64, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        inputs, labels = torch.randn(BATCH, 64, requires_grad=True), torch.randint(0, 10, (BATCH,))
        F.cross_entropy(net(inputs), labels).backward()
        worse = (inputs + 0.1 * inputs.grad.sign()).detach()
        step(optimizer, F.cross_entropy(net(worse), labels))


@negative
def two_micro_batches():
    torch.manual_seed(0)
    net = body(64, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        for _ in range(2):
            F.cross_entropy(net(torch.randn(BATCH, 64)), torch.randint(0, 10, (BATCH,))).backward()
        optimizer.step()


@negative
def by_hand():
    """No optimizer's step reads the gradients: the program does."""
    torch.manual_seed(0)
    net, other = body(64, 10), nn.Linear(2, 2)
    optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
    for _ in range(3):
        F.cross_entropy(net(torch.randn(BATCH, 64)), torch.randint(0, 10, (BATCH,))).backward()
        with torch.no_grad():
            for parameter in net.parameters():
                parameter -= 0.1 * parameter.grad
                parameter.grad = None
        step(optimizer, other(torch.randn(4, 2)).sum())


@negative
def checkpointed():
    """Backwards inside of a backward."""
    torch.manual_seed(0)
    first, second = body(64, WIDTH), body(WIDTH, 10)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], lr=0.1)
    for _ in range(3):
        inputs = torch.randn(BATCH, 64, requires_grad=True)
        hidden = checkpoint(first, inputs, use_reentrant=True)
        logits = checkpoint(second, hidden, use_reentrant=False)
        step(optimizer, F.cross_entropy(logits, torch.randint(0, 10, (BATCH,))))


if __name__ == "__main__":
    main()
