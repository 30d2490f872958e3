"""Tensors that the program keeps without using them, and tensors that it needs again."""

import io

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from cases import main, negative, positive

WIDTH, CLASSES, BATCH = 128, 2048, 256
LOGITS = 4 * BATCH * CLASSES


def make():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, CLASSES))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


def data():
    return torch.randn(BATCH, WIDTH), torch.randint(0, CLASSES, (BATCH,))


def collect(keep, count=6, drop=False):
    model, optimizer = make()
    kept = []
    for _ in range(count):
        inputs, labels = data()
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits, labels)
        kept.append(keep(logits))
        if drop:
            del logits
        loss.backward()
        optimizer.step()
    return kept


def outputs_fixed():
    collect(lambda logits: float(logits.detach().mean()))


# The peak is in the last step, with the logits of the five steps before it. A variable also holds the last step's
# logits.
@positive(bytes=5 * LOGITS, severity="warning", fixed="outputs_fixed")
def outputs():
    collect(lambda logits: logits.detach())


def samples(keep):
    collect(lambda logits: keep(logits.detach()[:8]), count=60, drop=True)


def samples_fixed():
    samples(lambda rows: float(rows.mean()))


# Each of them is too small to matter. The last one is already freed at the peak of the others.
@positive(bytes=59 * 4 * 8 * CLASSES, severity="warning", fixed="samples_fixed")
def samples_of_outputs():
    samples(lambda rows: rows.clone())


def classify(drop, count=3):
    model, optimizer = make()
    for _ in range(count):
        inputs, labels = data()
        optimizer.zero_grad()
        logits = model(inputs)
        loss = F.cross_entropy(logits, labels)
        if drop:
            del logits
        loss.backward()
        optimizer.step()
        logits = None


def logits_fixed():
    classify(drop=True)


# The log-softmax suffices for the gradient of the loss.
@positive(bytes=LOGITS, severity="info", fixed="logits_fixed")
def logits_in_backward():
    classify(drop=False)


class Remembers(nn.Module):
    """Keeps tensors for a hook."""

    def __init__(self, remembers):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, CLASSES), nn.Linear(CLASSES, 10)
        self.remembers = remembers

    def forward(self, x):
        scores = self.first(x)
        if self.remembers:
            self.scores = scores.detach()
        return self.second(torch.sigmoid(scores))


def attribute(remembers):
    torch.manual_seed(0)
    model = Remembers(remembers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(BATCH, WIDTH)), torch.randint(0, 10, (BATCH,)))
        loss.backward()
        optimizer.step()


def attribute_of_a_module_fixed():
    attribute(remembers=False)


# Tensors of two steps: the old ones are freed after the new ones exist.
@positive(bytes=LOGITS, severity="info", fixed="attribute_of_a_module_fixed")
def attribute_of_a_module():
    attribute(remembers=True)


@negative
def logits_dropped():
    logits_fixed()


@negative
def outputs_used_in_the_end():
    kept = collect(lambda logits: logits.detach())
    print(sum(float(logits.mean()) for logits in kept))


@negative
def data_set():
    """Every step, also the last one, uses a part of the tensor."""
    torch.manual_seed(0)
    model, optimizer = make()
    inputs, labels = torch.randn(8 * BATCH, WIDTH), torch.randint(0, CLASSES, (8 * BATCH,))
    for part in range(4):
        rows = slice(part * BATCH, (part + 1) * BATCH)
        optimizer.zero_grad()
        F.cross_entropy(model(inputs[rows]), labels[rows]).backward()
        optimizer.step()


@negative
def moving_average():
    """A second set of weights, without a role, that is used after each step."""
    model, optimizer = make()
    average = [parameter.detach().clone() for parameter in model.parameters()]
    for _ in range(4):
        inputs, labels = data()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), labels).backward()
        optimizer.step()
        torch._foreach_lerp_(average, [parameter.detach() for parameter in model.parameters()], 0.01)


LOADED = {}


def resumed(drop, runs=1, copies=False):
    """Each run begins with the weights of a file, or with those that the model had first."""
    torch.manual_seed(0)
    file = io.BytesIO()
    torch.save(make()[0].state_dict(), file)
    model, optimizer = make()
    LOADED.update({name: weight.clone() for name, weight in model.state_dict().items()} if copies
                  else torch.load(io.BytesIO(file.getvalue())))
    for _ in range(runs):
        model.load_state_dict(LOADED)
        if drop:
            LOADED.clear()
        for _ in range(3):
            inputs, labels = data()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()


def loaded_weights_fixed():
    resumed(drop=True)


# The smallest bias is too small for a word.
@positive(bytes=4 * (WIDTH * CLASSES + WIDTH * WIDTH + CLASSES), severity="info", fixed="loaded_weights_fixed")
def loaded_weights():
    resumed(drop=False)


@negative
def loaded_weights_for_two_runs():
    resumed(drop=False, runs=2)


@negative
def first_weights():
    """A copy of the model's own may be what another run begins with."""
    resumed(drop=False, copies=True)


def sharded(wrap):
    """One rank of a data-parallel training."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    torch.manual_seed(0)
    model = wrap(nn.Sequential(*[nn.Linear(256, 256) for _ in range(4)]))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 256)).square().mean().backward()
        optimizer.step()
    dist.destroy_process_group()


@negative
def buckets_of_ddp():
    sharded(lambda net: DistributedDataParallel(net, gradient_as_bucket_view=True))


@negative
def shards_of_fsdp():
    def wrap(net):
        mesh = init_device_mesh("cpu", (1,))
        for layer in net:
            fully_shard(layer, mesh=mesh)
        return fully_shard(net, mesh=mesh)

    sharded(wrap)


if __name__ == "__main__":
    main()
