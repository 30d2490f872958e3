"""Outputs that a loop keeps until the program reduces them."""

import torch
from torch import nn

from cases import main, negative, positive

BATCHES, ROWS, WIDTH, CLASSES = 16, 64, 16, 4096
OUTPUT = ROWS * CLASSES * 4


def collected(keep, reduce):
    torch.manual_seed(0)
    model, outputs = nn.Linear(WIDTH, CLASSES), []
    with torch.no_grad():
        for _ in range(BATCHES):
            outputs.append(keep(model(torch.randn(ROWS, WIDTH))))
        print(reduce(outputs).shape)


def reduced_in_the_loop():
    collected(lambda output: output.argmax(-1), torch.cat)


@positive(bytes=BATCHES * OUTPUT, severity="info", fixed="reduced_in_the_loop")
def classes_of_all_outputs():
    collected(lambda output: output, lambda outputs: torch.cat(outputs).argmax(-1))


@positive(bytes=BATCHES * OUTPUT, severity="info")
def errors_of_a_stack():
    collected(lambda output: output, lambda outputs: torch.stack(outputs).square().mean((1, 2)))


@positive(bytes=BATCHES * OUTPUT, severity="info")
def a_loop_over_the_list():
    collected(lambda output: output, lambda outputs: torch.stack([output.amax() for output in outputs]))


@negative
def reduced():
    reduced_in_the_loop()


@negative
def a_product_of_all_outputs():
    """Each output is multiplied by all others."""
    collected(lambda output: output, lambda outputs: torch.cat(outputs) @ torch.cat(outputs).t())


@negative
def a_model_reads_them():
    torch.manual_seed(0)
    body, head, features = nn.Linear(WIDTH, CLASSES), nn.Linear(CLASSES, 2), []
    with torch.no_grad():
        for _ in range(BATCHES):
            features.append(body(torch.randn(ROWS, WIDTH)))
        print(head(torch.cat(features)).shape)


@negative
def sorted_scores():
    collected(lambda output: output, lambda outputs: torch.cat(outputs).flatten().sort().values[:10])


@negative
def kept_to_the_end():
    torch.manual_seed(0)
    model = nn.Linear(WIDTH, CLASSES)
    with torch.no_grad():
        table = torch.cat([model(torch.randn(ROWS, WIDTH)) for _ in range(BATCHES)])
        print(table.argmax(-1).shape)
        globals()["table"] = table


if __name__ == "__main__":
    main()
