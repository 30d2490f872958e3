"""growing-concat: appending with cat, in a loop."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

PARTS, ROWS, WIDTH = 8, 256, 256


def outputs(join):
    """Evaluates a network batch by batch, and collects the outputs."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, WIDTH), nn.Tanh())
    with torch.no_grad():
        said = join(model(torch.randn(ROWS, 64)) for _ in range(PARTS))
    print(float(said.sum()))


def append(parts):
    said = next(parts)
    for part in parts:
        said = torch.cat([said, part])
    return said


def preallocate(parts):
    said = torch.empty(PARTS * ROWS, WIDTH)
    for number, part in enumerate(parts):
        said[number * ROWS : (number + 1) * ROWS] = part
    return said


def fixed_outputs():
    outputs(preallocate)


# Parts of 262,144 bytes. The sixth and the seventh result are alive together; the seventh one has all parts.
@positive(bytes=(6 + 7) * 262144, occurrences=6, severity="warning", fixed="fixed_outputs")
def outputs_collected_in_a_loop():
    outputs(append)


@negative
def outputs_joined_once():
    outputs(lambda parts: torch.cat(list(parts)))


@negative
def outputs_in_a_buffer():
    outputs(preallocate)


class Decoder(nn.Module):
    """One head of attention over all previous positions, one position at a time."""

    def __init__(self, width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, keys, values):
        query, key, value = self.query(x), self.key(x), self.value(x)
        keys, values = torch.cat([keys, key], dim=1), torch.cat([values, value], dim=1)
        return F.scaled_dot_product_attention(query, keys, values), keys, values


# Keys and values of 262,144 bytes a position: the results of four and of five positions, beside those of six.
@positive(bytes=2 * (4 + 5) * 262144, occurrences=8, severity="warning")
def key_value_cache():
    torch.manual_seed(0)
    model, x = Decoder(256), torch.randn(256, 1, 256)
    keys = values = torch.zeros(256, 0, 256)
    with torch.no_grad():
        for _ in range(6):
            x, keys, values = model(x, keys, values)


class Dense(nn.Module):
    """Each layer reads the results of all previous layers."""

    def __init__(self, layers, growth, train):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv2d(growth * (1 + number), growth, 3, padding=1) for number in range(layers))
        self.requires_grad_(train)

    def forward(self, x):
        features = [x]
        for layer in self.layers:
            features.append(torch.tanh(layer(torch.cat(features, 1))))
        return features[-1]


# Saves the results of 1 to 5 parts. The result of 5 parts contains those of 2, 3 and 4. One part does not count as a
# concatenation.
@positive(bytes=(2 + 3 + 4) * 262144, occurrences=3, severity="info")
def dense_block():
    torch.manual_seed(0)
    model, x = Dense(5, 8, train=True), torch.randn(8, 8, 32, 32)
    model(x).square().mean().backward()


@negative
def two_concatenations():
    """A skip connection, and its source."""
    torch.manual_seed(0)
    first, second = nn.Conv2d(16, 8, 3, padding=1), nn.Conv2d(24, 8, 3, padding=1)
    x = torch.randn(8, 8, 32, 32)
    joined = torch.cat([x, x + 1], 1)
    second(torch.cat([joined, first(joined)], 1)).square().mean().backward()


if __name__ == "__main__":
    main()
