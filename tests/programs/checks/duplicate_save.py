"""duplicate-save: one activation cast for every layer, copies kept side by side, buffers of one tensor."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch._higher_order_ops.scan import scan

from cases import main, negative, positive


def trained(step, parameters, steps=2):
    optimizer = torch.optim.SGD(parameters, lr=1e-3)
    for _ in range(steps):
        optimizer.zero_grad()
        step().backward()
        optimizer.step()


class Projections(nn.Module):
    """Queries, keys and values of one input."""

    def __init__(self, once):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(256, 64) for _ in range(3))
        self.once = once

    def forward(self, x):
        if self.once:
            x = x.to(torch.bfloat16)
        return sum(layer(x) for layer in self.layers)


def projections(once):
    torch.manual_seed(0)
    model, x = Projections(once), torch.randn(2048, 256)

    def step():
        with torch.autocast("cpu", torch.bfloat16):
            return model(x).float().square().mean()

    trained(step, model.parameters())


def fixed_autocast():
    projections(once=True)


# Two of the three casts to bfloat16.
@positive(bytes=2 * 1048576, occurrences=4, severity="info", fixed="fixed_autocast")
def autocast():
    projections(once=False)


@negative
def cast_once():
    projections(once=True)


def towers(together):
    torch.manual_seed(0)
    first, second = nn.Conv1d(64, 32, 3), nn.Conv1d(64, 32, 5)
    x = torch.randn(32, 256, 64)

    def step():
        if together:
            a = b = x.transpose(1, 2).contiguous()
        else:
            a, b = x.transpose(1, 2).contiguous(), x.transpose(1, 2).contiguous()
        return first(a).square().mean() + second(b).square().mean()

    trained(step, [*first.parameters(), *second.parameters()])


def fixed_towers():
    towers(together=True)


@positive(bytes=2097152, occurrences=2, severity="warning", fixed="fixed_towers")
def contiguous_twice():
    towers(together=False)


@negative
def contiguous_once():
    towers(together=True)


@negative
def contiguous_of_two():
    """The same operator on different tensors of the same shape."""
    torch.manual_seed(0)
    layer, x = nn.Conv1d(64, 32, 3), torch.randn(32, 256, 64)
    trained(lambda: (layer(x.transpose(1, 2).contiguous()) - layer((x + 1).transpose(1, 2).contiguous())).square().mean(),
            layer.parameters())


@negative
def copies_of_what_changes():
    """The program writes the state between two copies."""
    torch.manual_seed(0)
    layer, state = nn.Linear(512, 64), torch.randn(512, 512)

    def step():
        total = 0
        for _ in range(3):
            total = total + layer(state.clone()).square().mean()
            state.mul_(0.9)
        return total

    trained(step, layer.parameters())


def gated(collect):
    torch.manual_seed(0)
    context, gates = torch.randn(128, 256), torch.randn(16, 128, 256, requires_grad=True)
    trained(lambda: (gates * collect(context)).sigmoid().mean(), [gates])


def fixed_stack():
    gated(lambda context: context.expand(16, -1, -1))


@positive(bytes=16 * 131072, occurrences=2, severity="warning", fixed="fixed_stack")
def stack_of_one():
    gated(lambda context: torch.stack([context for _ in range(16)]))


def looped(weight, carry, inputs):
    for x in inputs:
        carry = torch.tanh(carry @ weight + x)
    return carry


def scanned(weight, carry, inputs):
    def step(carry, x):
        carry = torch.tanh(carry @ weight + x)
        return carry, carry.new_zeros(1)

    return scan(step, carry, inputs)[0]


def recurrence(run):
    torch.manual_seed(0)
    weight = torch.randn(256, 256).div_(16).requires_grad_()
    run(weight, torch.randn(32, 256, requires_grad=True), torch.randn(16, 32, 256)).sum().backward()


# A weight of 262,144 bytes, unchanged in each of 16 steps.
@positive(bytes=16 * 262144, severity="warning")
def scan_with_a_loop_invariant_weight():
    recurrence(scanned)


def scan_over_matrices(matrices, carry, inputs):
    def step(carry, matrix):
        return torch.tanh(carry @ matrix), carry.new_zeros(1)

    return scan(step, carry, matrices.expand(1, -1, -1).repeat(8, 1, 1).detach())[0]


@negative
def scan_over_an_input():
    """The scanned tensor is not stacked again: scan detects that it already has it."""
    recurrence(scan_over_matrices)


def frames(collect):
    torch.manual_seed(0)
    film, gain = torch.randn(16, 128, 256), torch.randn(16, 128, 256, requires_grad=True)
    trained(lambda: (gain * collect(film)).sigmoid().mean(), [gain])


def fixed_slices():
    frames(lambda film: film)


@positive(bytes=16 * 131072, occurrences=2, severity="warning", fixed="fixed_slices")
def stack_of_all_slices():
    frames(lambda film: torch.stack([frame for frame in film]))


@negative
def stack_of_slices_in_another_order():
    frames(lambda film: torch.stack([frame for frame in film.flip(0)]))


@negative
def stack_of_slices_backwards():
    frames(lambda film: torch.stack(list(film)[::-1]))


@negative
def loop_with_the_same_weight():
    recurrence(looped)


@negative
def activation_in_place_between_two_layers():
    """The in-place operator copies its input, as it was before the write, for its gradient."""
    torch.manual_seed(0)
    first, second = nn.Conv1d(64, 64, 3), nn.Conv1d(64, 64, 3)
    x = torch.randn(16, 64, 256)

    def step():
        h = first(x)
        F.hardswish(h, inplace=True)
        return second(h).square().mean()

    trained(step, [*first.parameters(), *second.parameters()])


def loaded(**options):
    torch.manual_seed(0)
    layer, data = nn.Linear(256, 16), TensorDataset(torch.randn(64, 32, 256))
    optimizer = torch.optim.SGD(layer.parameters(), lr=1e-3)
    for (batch,) in DataLoader(data, **options):
        optimizer.zero_grad()
        layer(batch).square().mean().backward()
        optimizer.step()


@negative
def batches_of_a_loader_that_does_not_shuffle():
    loaded(batch_size=16)


@negative
def one_batch_of_a_whole_data_set():
    loaded(batch_size=64)


@negative
def stack_of_some_slices():
    """A batch of a longer film."""
    torch.manual_seed(0)
    film, gain = torch.randn(32, 128, 256), torch.randn(16, 128, 256, requires_grad=True)
    trained(lambda: (gain * torch.stack([frame for frame in film[:16]])).sigmoid().mean(), [gain])


if __name__ == "__main__":
    main()
