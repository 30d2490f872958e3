"""Small views that keep large storages alive."""

import torch
from torch import nn

from cases import main, negative, positive

BATCHES, ROWS, TOKENS, WIDTH = 16, 16, 128, 64
STORAGE = ROWS * TOKENS * WIDTH * 4


def embedded(keep, join=torch.cat):
    torch.manual_seed(0)
    model, found = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)), []
    with torch.no_grad():
        for _ in range(BATCHES):
            hidden = model(torch.randn(ROWS, TOKENS, WIDTH))
            found.append(keep(hidden))
    print(join(found).shape)


def first_tokens_copied():
    embedded(lambda hidden: hidden[:, 0].clone())


@positive(bytes=(BATCHES - 1) * STORAGE, severity="info", fixed="first_tokens_copied")
def first_tokens():
    embedded(lambda hidden: hidden[:, 0])


@positive(bytes=(BATCHES - 1) * STORAGE, severity="info")
def stacked_rows():
    embedded(lambda hidden: hidden[-1, 3:7], torch.stack)


@negative
def whole_tensors():
    embedded(lambda hidden: hidden)


@negative
def copies():
    first_tokens_copied()


@negative
def parts_of_a_data_set():
    """The list of storages is needed: the program makes all before it reads the first one."""
    torch.manual_seed(0)
    data = [torch.randn(ROWS, TOKENS, WIDTH) for _ in range(BATCHES)]
    print(torch.cat([batch[:, 0] for batch in data]).shape)


@negative
def a_view_of_one_tensor():
    torch.manual_seed(0)
    hidden = torch.randn(ROWS, TOKENS, WIDTH)
    print(torch.cat([hidden[:, 0], hidden[:, 1]]).shape)


if __name__ == "__main__":
    main()
