"""Graphs that accumulate from step to step, and graphs that do not."""

import collections

import torch
from torch import nn
from torch.nn import functional as F

from cases import main, negative, positive

WIDTH, BATCH = 256, 1024
SAVED = 4 * WIDTH * BATCH  # bytes of one activation


def make():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def steps(model, optimizer, count=6):
    """The loss of each step, after it."""
    for _ in range(count):
        inputs, labels = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        yield loss


# Each backward frees the saved tensors. Only nodes stay alive.
@positive(bytes=0, severity="error")
def total_of_losses():
    total = 0
    for loss in steps(*make()):
        total += loss
    print(float(total))


@positive(bytes=0, severity="error")
def list_of_losses():
    losses = []
    for loss in steps(*make()):
        losses.append(loss)
    print(len(losses))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(2 * WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, 10)

    def forward(self, x, state):
        state = torch.tanh(self.cell(torch.cat([x, state], dim=1)))
        return self.head(state), state


def recur(detached, count=6):
    torch.manual_seed(0)
    model = Recurrent()
    optimizer = torch.optim.SGD(model.head.parameters(), lr=0.1)  # with a step of the cell, autograd raises an error
    state = torch.zeros(BATCH, WIDTH)
    for _ in range(count):
        inputs, labels = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))
        optimizer.zero_grad()
        logits, state = model(inputs, state)
        if detached:
            state = state.detach()
        F.cross_entropy(logits, labels).backward(retain_graph=not detached)
        optimizer.step()


def hidden_state_fixed():
    recur(detached=True)


# Of five earlier steps: the concatenation that the cell saves (two activations), and the state, its result.
@positive(bytes=5 * 3 * SAVED, severity="error", fixed="hidden_state_fixed")
def hidden_state():
    recur(detached=False)


def recur_by_hand(detached, count=6):
    """Without an optimizer: a custom update with gradients of autograd.grad."""
    torch.manual_seed(0)
    model = Recurrent()
    state = torch.zeros(BATCH, WIDTH)
    for _ in range(count):
        inputs, labels = torch.randn(BATCH, WIDTH), torch.randint(0, 10, (BATCH,))
        logits, state = model(inputs, state)
        if detached:
            state = state.detach()
        loss = F.cross_entropy(logits, labels)
        gradients = torch.autograd.grad(loss, list(model.parameters()), retain_graph=not detached)
        with torch.no_grad():
            for parameter, gradient in zip(model.head.parameters(), gradients[2:]):
                parameter -= 0.1 * gradient


def hidden_state_by_hand_fixed():
    recur_by_hand(detached=True)


@positive(bytes=5 * 3 * SAVED, severity="error", fixed="hidden_state_by_hand_fixed")
def hidden_state_by_hand():
    recur_by_hand(detached=False)


# A window of three: it does not grow without end, and holds no tensor.
@positive(bytes=0, severity="info")
def last_losses():
    last = collections.deque(maxlen=3)
    for loss in steps(*make(), count=9):
        last.append(loss)


@negative
def total_of_numbers():
    total = 0.0
    for loss in steps(*make()):
        total += loss.item()


@negative
def total_of_detached_losses():
    total = torch.zeros(())
    for loss in steps(*make()):
        total += loss.detach()


@negative
def hidden_state_detached():
    recur(detached=True)


@negative
def hidden_state_by_hand_detached():
    recur_by_hand(detached=True)


@negative
def loss_of_the_step_before():
    """Each loss is alive until the next one exists, as in any loop."""
    former = None
    for loss in steps(*make()):
        former = loss
    print(float(former))


if __name__ == "__main__":
    main()
