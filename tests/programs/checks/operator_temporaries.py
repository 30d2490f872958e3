"""Operators that need more than their inputs and results while they run."""

import torch
from torch.nn import functional as F

from cases import main, negative, positive

BATCH, CHANNELS, SIZE = 16, 8, 66
COLUMNS = BATCH * CHANNELS * 9 * (SIZE - 2) ** 2 * 8  # a 3x3 kernel over float64


def images():
    torch.manual_seed(0)
    return (torch.randn(BATCH, CHANNELS, SIZE, SIZE, dtype=torch.float64),
            torch.randn(1, CHANNELS, 3, 3, dtype=torch.float64))


def unfolded_in_chunks():
    x, weight = images()
    result = torch.empty(BATCH, 1, SIZE - 2, SIZE - 2, dtype=torch.float64)
    for part, into in zip(x.chunk(4), result.chunk(4)):
        into.copy_(F.conv2d(part, weight))


@positive(bytes=COLUMNS, severity="info", confidence="likely", fixed="unfolded_in_chunks")
def unfolded():
    F.conv2d(*images())


def product(matrix):
    torch.mm(matrix, torch.ones(512, 1))


@positive(bytes=4096 * 512 * 4, severity="info")
def every_other_column():
    """BLAS reads rows or columns that lie side by side; these lie two apart and are copied."""
    torch.manual_seed(0)
    product(torch.randn(4096, 1024)[:, ::2])


@negative
def pointwise():
    x, _ = images()
    torch.sigmoid(x)


@negative
def peak_elsewhere():
    """The convolution's columns are less than a tenth of the peak, which comes later."""
    x, weight = images()
    F.conv2d(x[:1], weight)
    torch.cat([x, x, x])


if __name__ == "__main__":
    main()
