"""Graphs without a backward, and graphs with one."""

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

WIDTH, BATCH = 256, 1024
SAVED = 4 * WIDTH * BATCH  # bytes of one activation


def make():
    torch.manual_seed(0)
    body = [layer for _ in range(6) for layer in (nn.Linear(WIDTH, WIDTH), nn.Sigmoid())]
    model = nn.Sequential(*body, nn.Linear(WIDTH, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def batch(rows=BATCH):
    return torch.randn(rows, WIDTH), torch.randint(0, 10, (rows,))


def train(model, optimizer, rows=64):
    for _ in range(2):
        inputs, labels = batch(rows)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()


def evaluate(model):
    correct = 0
    for _ in range(3):
        inputs, labels = batch()
        correct += int((model(inputs).argmax(dim=1) == labels).sum())
    return correct


def evaluate_with_gradients_off_fixed():
    model, optimizer = make()
    train(model, optimizer)
    with torch.no_grad():
        evaluate(model)


# The six activations between the layers.
@positive(bytes=6 * SAVED, severity="warning", fixed="evaluate_with_gradients_off_fixed")
def evaluate_with_gradients_on():
    model, optimizer = make()
    train(model, optimizer)
    evaluate(model)


def perplexity(model, detached):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        inputs, labels = batch()
        optimizer.zero_grad()
        hidden = model[:-1](inputs)
        loss = F.cross_entropy(model[-1](hidden), labels)
        watched = hidden.detach() if detached else hidden
        spread = torch.tanh(watched.exp().sigmoid()).pow(2).sum()  # a figure to print, of the live activations
        loss.backward()
        optimizer.step()
        float(spread)


def metric_of_detached_loss():
    perplexity(make()[0], detached=True)


# exp, sigmoid and tanh keep their results until the next `spread` is made: results of two steps are alive at once.
@positive(bytes=6 * SAVED, severity="warning", fixed="metric_of_detached_loss")
def metric_of_live_loss():
    perplexity(make()[0], detached=False)


def sum_of_losses(model):
    inputs, labels = batch()
    total = float(sum(F.cross_entropy(model(inputs), labels) for _ in range(3)))
    return total, float(inputs[0, 0]), int(labels[0])  # the batch is used after the graph was freed


def losses_of_an_evaluation_summed_fixed():
    model, optimizer = make()
    train(model, optimizer)
    with torch.no_grad():
        sum_of_losses(model)


# Three graphs that join at the end. Each has six activations, the log-softmax and the sum of weights.
@positive(bytes=3 * (6 * SAVED + 4 * BATCH * 10 + 4), severity="warning", fixed="losses_of_an_evaluation_summed_fixed")
def losses_of_an_evaluation_summed():
    model, optimizer = make()
    train(model, optimizer)
    sum_of_losses(model)


def train_and_keep(keep, again=lambda loss: None):
    model, optimizer = make()
    for _ in range(3):
        inputs, labels = batch()
        loss = F.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        keep(loss, model)
        again(loss)
        optimizer.step()


def graph_is_released_fixed():
    train_and_keep(lambda loss, _: loss.backward())


# The batch, the six activations, log-softmax and the sum of weights stay until the next loss exists.
@positive(bytes=7 * SAVED + 8 * BATCH + 4 * BATCH * 10 + 4, severity="warning", fixed="graph_is_released_fixed")
def graph_is_retained():
    train_and_keep(lambda loss, _: loss.backward(retain_graph=True))


SIZES = (4, 4, 4, 4, BATCH)


def train_on_several_sizes(**options):
    model, optimizer = make()
    losses = []
    for rows in SIZES:
        inputs, labels = batch(rows)
        losses.append(F.cross_entropy(model(inputs), labels))
        optimizer.zero_grad()
        losses[-1].backward(**options)
        optimizer.step()


def graphs_of_several_sizes_are_released_fixed():
    train_on_several_sizes()


# Most are too small for a word, but it is the same line.
@positive(bytes=sum(7 * 4 * WIDTH * rows + (8 + 4 * 10) * rows + 4 for rows in SIZES), severity="warning",
          fixed="graphs_of_several_sizes_are_released_fixed")
def graphs_of_several_sizes_are_retained():
    train_on_several_sizes(retain_graph=True)


@negative
def graph_is_retained_for_a_second_backward():
    train_and_keep(lambda loss, _: loss.backward(retain_graph=True), again=lambda loss: loss.backward())


@negative
def gradients_that_are_differentiated():
    def penalty(loss, model):
        gradients = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
        (loss + sum(g.square().sum() for g in gradients)).backward()
    train_and_keep(penalty)


@negative
def evaluate_without_gradients():
    model, optimizer = make()
    train(model, optimizer)
    with torch.inference_mode():
        evaluate(model)


@negative
def trained_only():
    model, optimizer = make()
    train(model, optimizer, rows=BATCH)


@negative
def gradient_of_a_part():
    """backward(inputs=...) visits only the path to its inputs. The graph outside of that path does not count as a graph
    without a backward."""
    model, optimizer = make()
    for _ in range(2):
        inputs, labels = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward(inputs=list(model[-1].parameters()))
        optimizer.step()


@negative(exit_code=137)
def stopped_between_forward_and_backward():
    """Killed: the program's next actions are unknown."""
    import os
    import signal
    model, optimizer = make()
    train(model, optimizer)
    inputs, labels = batch()
    loss = F.cross_entropy(model(inputs), labels)
    os.kill(os.getpid(), signal.SIGKILL)
    loss.backward()


if __name__ == "__main__":
    main()
