"""expanded-save: broadcast products that copy every repetition, expand() made contiguous."""

import torch
from torch import nn

from cases import main, negative, positive


def folded(x, weight):
    """matmul of (n, 1, a, b) and (c, b, d): c goes into the columns."""
    n, _, a, b = x.shape
    c, _, d = weight.shape
    product = x.reshape(n * a, b) @ weight.permute(1, 0, 2).reshape(b, c * d)
    return product.view(n, a, c, d).permute(0, 2, 1, 3)


def heads(multiply, batch, rows, width, several, columns, steps=1):
    torch.manual_seed(0)
    x = torch.randn(batch, 1, rows, width)
    weight = torch.randn(several, width, columns, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        multiply(x, weight).sum().backward()
        optimizer.step()


def fixed_heads():
    heads(folded, 16, 256, 128, 8, 4, steps=2)


# x is 2,097,152 bytes and copied 8 times, the weight is 16,384 and copied 16 times.
@positive(bytes=16777216 + 262144, occurrences=4, severity="warning", fixed="fixed_heads")
def several_heads():
    heads(torch.matmul, 16, 256, 128, 8, 4, steps=2)


# 1,107,427,328 bytes live: the 33,685,504 of x and the weight, and a copy of 1 GiB that autograd saves. While it
# multiplies there is one of the weight, too.
@positive(bytes=1073741824 + 8388608, occurrences=2, severity="warning")
def several_heads_large():
    heads(torch.matmul, 64, 512, 256, 32, 4)


def scores(expand):
    torch.manual_seed(0)
    queries, keys = nn.Linear(64, 256), nn.Linear(64, 64)
    x = torch.randn(4, 256, 64)
    optimizer = torch.optim.SGD([*queries.parameters(), *keys.parameters()], lr=1e-3)

    def loss():
        query = queries(x).view(4, 256, 4, 64).transpose(1, 2).contiguous()
        return (query * expand(keys(x)[:, None])).sigmoid().mean()

    for _ in range(2):
        optimizer.zero_grad()
        loss().backward()
        optimizer.step()


def fixed_scores():
    scores(lambda key: key.expand(4, 4, 256, 64))


# One head of keys for four of queries.
@positive(bytes=1048576, occurrences=2, severity="info", fixed="fixed_scores")
def expand_and_contiguous():
    scores(lambda key: key.expand(4, 4, 256, 64).contiguous())


@negative
def expand_alone():
    fixed_scores()


@negative
def einsum():
    heads(lambda x, weight: torch.einsum("nzab,cbd->ncad", x, weight), 16, 256, 128, 8, 4)


@negative
def linear_of_a_batch():
    """A product whose one side has no batch dimensions is folded by PyTorch itself."""
    torch.manual_seed(0)
    x, weight = torch.randn(16, 8, 64, 128), torch.randn(128, 64, requires_grad=True)
    torch.matmul(x, weight).square().mean().backward()


@negative
def expanded_and_filled():
    """Every repetition becomes something else."""
    torch.manual_seed(0)
    base = torch.randn(1, 256, 256)
    frames = base.expand(8, 256, 256).contiguous()
    for number, frame in enumerate(frames):
        frame.mul_(number)
    weight = torch.randn(256, 16, requires_grad=True)
    (frames @ weight).square().mean().backward()


if __name__ == "__main__":
    main()
