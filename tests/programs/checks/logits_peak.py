"""logits-peak: cross-entropy over many classes."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from cases import main, negative, positive

ROWS, WIDTH = 2048, 4  # narrow, so that the weight's own gradients weigh little beside the logits


def trained(step, parameters, steps=2):
    optimizer = torch.optim.SGD(parameters, lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        step().backward()
        optimizer.step()


def language_model(loss, classes=4096, layers=1, width=WIDTH):
    torch.manual_seed(0)
    body = nn.Sequential(*[layer for _ in range(layers) for layer in (nn.Linear(width, width), nn.Tanh())])
    head, x = nn.Linear(width, classes, bias=False), torch.randn(ROWS, width)
    target = torch.randint(classes, (ROWS,))
    trained(lambda: loss(head, body(x), target), [*body.parameters(), *head.parameters()])


def at_once(head, hidden, target):
    return F.cross_entropy(head(hidden), target)


def in_chunks(head, hidden, target, chunks=8):
    def chunk(hidden, target):
        return F.cross_entropy(head(hidden), target, reduction="sum")

    sums = [checkpoint(chunk, *rows, use_reentrant=False) for rows in zip(hidden.chunk(chunks), target.chunk(chunks))]
    return torch.stack(sums).sum() / len(target)


def fixed_many_classes():
    language_model(in_chunks)


# Three of the four tensors of 2048 x 4096 floats are alive at a time: log-softmax, its gradient, the logits' gradient.
@positive(bytes=3 * 33554432, occurrences=8, severity="info", fixed="fixed_many_classes")
def many_classes():
    language_model(at_once)


def separate(head, hidden, target):
    return F.nll_loss(head(hidden).log_softmax(1), target)


@positive(bytes=3 * 33554432, severity="info")
def log_softmax_and_loss():
    language_model(separate)


@negative
def chunks_of_many_classes():
    language_model(lambda *inputs: in_chunks(*inputs, chunks=64))


@negative
def few_classes():
    """The body's activations are the peak."""
    language_model(at_once, classes=4, layers=8, width=64)


@negative
def log_softmax_of_its_own():
    """No cross-entropy: every element of the log-softmax is read."""
    language_model(lambda head, hidden, target: head(hidden).log_softmax(1).square().mean())


if __name__ == "__main__":
    main()
