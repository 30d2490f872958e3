"""materialized-attention: softmax(q @ k.T) @ v, written out."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive


class Attention(nn.Module):
    def __init__(self, attend, width=64, heads=4):
        super().__init__()
        self.projections, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.attend, self.heads = attend, heads

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = self.projections(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        return self.out(self.attend(query, key, value).transpose(1, 2).reshape(batch, length, width))


def scores(query, key):
    return query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5


def plain(query, key, value):
    return scores(query, key).softmax(-1) @ value


def causal(query, key, value):
    mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return scores(query, key).masked_fill(~mask, float("-inf")).softmax(-1) @ value


def with_dropout(query, key, value):
    return F.dropout(scores(query, key).softmax(-1), 0.1) @ value


def fused(query, key, value):
    return F.scaled_dot_product_attention(query, key, value)


def mixture(query, key, value):
    """Not attention: softmax normalises the values' own weights, not products with keys."""
    return torch.sin(query @ torch.ones(query.shape[-1], key.shape[-2])).softmax(-1) @ value


def trained(attend, layers=4, length=256):
    torch.manual_seed(0)
    model, x = nn.Sequential(*[Attention(attend) for _ in range(layers)]), torch.randn(2, length, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    for _ in range(2):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()


def fixed_plain():
    trained(fused)


# A softmax of 2 MiB each layer; in the last one it is made of the scaled scores.
@positive(bytes=(4 + 1) * 2097152, occurrences=2 * 4 * 3, severity="info", fixed="fixed_plain")
def written_out():
    trained(plain)


@positive(bytes=(4 + 1) * 2097152, occurrences=2 * 4 * 4, severity="info")
def written_out_and_masked():
    trained(causal)


# The softmax, dropout's noise and their product are all kept.
@positive(bytes=4 * 3 * 2097152, occurrences=2 * 4 * 5, severity="info")
def written_out_with_dropout():
    trained(with_dropout)


@negative
def scaled_dot_product_attention():
    trained(fused)


@negative
def softmax_of_something_else():
    trained(mixture)


@negative
def softmax_of_scores_without_values():
    """A similarity that is the result itself."""
    torch.manual_seed(0)
    query, key = torch.randn(4, 256, 32, requires_grad=True), torch.randn(4, 256, 32)
    (scores(query, key).softmax(-1) - torch.eye(256)).square().mean().backward()


if __name__ == "__main__":
    main()
