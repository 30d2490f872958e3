"""Large intermediates with small inputs and small results."""

import torch
from torch import nn
from torch.func import jacrev, vmap

from cases import main, negative, positive

POINTS, WIDTH = 512, 64
PAIRS = POINTS * POINTS * WIDTH * 4


def points():
    torch.manual_seed(0)
    return torch.randn(POINTS, WIDTH), torch.randn(POINTS, WIDTH)


def nearest_by_norms():
    x, y = points()
    print(torch.cdist(x, y).argmin(1).sum())


@positive(bytes=2 * PAIRS, severity="info", fixed="nearest_by_norms")
def nearest():
    x, y = points()
    print((x[:, None] - y).square().sum(-1).argmin(1).sum())


def trained_by_norms():
    x, y = points()
    torch.cdist(x.requires_grad_(), y).sum().backward()


@positive(bytes=4 * PAIRS, severity="info")
def trained_on_distances():
    x, y = points()
    (x.requires_grad_()[:, None] - y).pow(2).sum(-1).sum().backward()


def overlaps(a, b):
    low = torch.maximum(a[:, None, 0], b[:, 0])
    high = torch.minimum(a[:, None, 1], b[:, 1])
    return (high - low).clamp(min=0)


def intervals():
    torch.manual_seed(0)
    begins = torch.rand(2048, 1)
    return torch.cat([begins, begins + 0.1], 1)


def overlaps_in_chunks():
    a = intervals()
    print(torch.cat([overlaps(part, a).amax(1) for part in a.chunk(16)]).sum())


@positive(bytes=4 * 2048 * 2048 * 4, severity="info", confidence="likely")
def overlapping():
    a = intervals()
    print(overlaps(a, a).amax(1).sum())


def scores(batch=16, tokens=128, words=10000):
    torch.manual_seed(0)
    return torch.rand(batch, tokens), torch.randint(words, (batch, tokens)), words


def words_reduced_at_once():
    weights, ids, words = scores()
    print(torch.zeros(len(ids), words).scatter_reduce_(1, ids, weights, "amax").sum())


@positive(bytes=16 * 128 * 10000 * 4, severity="info")
def words_in_a_table():
    weights, ids, words = scores()
    table = torch.zeros(*ids.shape, words)
    table.scatter_(-1, ids[..., None], weights[..., None])
    print(table.amax(1).sum())


def jacobian(**options):
    torch.manual_seed(0)
    inner, outer = torch.randn(16, 1024) / 4, torch.randn(1024, 256) / 32
    print(jacrev(lambda x: (torch.sin(x @ inner) @ outer).flatten(), **options)(torch.randn(4, 16)).shape)


def jacobian_in_chunks():
    jacobian(chunk_size=64)


@positive(bytes=37748736, severity="info", fixed="jacobian_in_chunks")
def whole_jacobian():
    jacobian()


@positive(bytes=2 * 512 * 256 * 512 * 4, severity="info")
def whole_batch_in_vmap():
    torch.manual_seed(0)
    a, b = torch.randn(512, 256), torch.randn(256, 512)
    print(vmap(lambda row: (row[:, None] * b).sin().sum())(a).shape)


def logits():
    torch.manual_seed(0)
    return torch.randn(16, 128, 2048), torch.randint(2048, (16, 128))


def chosen_by_logsumexp():
    values, ids = logits()
    picked = values.gather(-1, ids[..., None])[..., 0]
    print((picked - torch.stack([row.logsumexp(-1) for row in values])).sum())


@positive(bytes=16 * 128 * 2048 * 4, severity="info", fixed="chosen_by_logsumexp")
def chosen():
    values, ids = logits()
    print(values.log_softmax(-1).gather(-1, ids[..., None]).sum())


@negative
def all_of_it_is_read():
    values, _ = logits()
    logp = values.log_softmax(-1)
    print(-(logp.exp() * logp).sum())


@negative
def result_of_that_size():
    """The differences themselves are the result."""
    x, y = points()
    differences = x[:, None] - y
    print(differences.sum(-1).sum(), differences.neg().numpy().shape)


@negative
def model_without_a_graph():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 4096), nn.ReLU(), nn.Linear(4096, 4))
    with torch.no_grad():
        print(model(torch.randn(1024, 4)).sum())


@negative
def data_that_is_averaged():
    torch.manual_seed(0)
    print(torch.randn(4096, 1024).square().mean())


if __name__ == "__main__":
    main()
