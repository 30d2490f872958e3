"""The programs of soak.py: soak_worker.py STEPS DEVICE PROGRAM... It does not use Tapelens.

Runs each program for so many steps, one after another, and reads how much anonymous memory the process has. Answers with one
line of JSON for each program: the samples, and those of the parent process, which is the recorder under `tapelens record`."""

import copy
import ctypes
import gc
import itertools
import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

STOP_AT_KB = 512 << 10  # a growth by so much is conclusive
PROGRAMS = {}
# Every parameter, state and copy below that matters has 64 KiB or more: smaller ones are not rewritten by default.
SIDE = 160


def program(make):
    PROGRAMS[make.__name__] = make
    return make


def anonymous_kb(process="self"):
    try:
        with open(f"/proc/{process}/status", encoding="ascii") as file:
            return next((int(line.split()[1]) for line in file if line.startswith("RssAnon")), 0)
    except OSError:
        return 0


def cnn():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
                        nn.Conv2d(32, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(2),
                        nn.Flatten(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    return net, torch.randn(2, 3, 8, 8), torch.randint(0, 10, (2,)), F.cross_entropy


def mlp(batch=4):
    net = nn.Sequential(nn.Linear(SIDE, SIDE), nn.GELU(), nn.Linear(SIDE, SIDE), nn.ReLU(), nn.Linear(SIDE, SIDE))
    return net, torch.randn(batch, SIDE), torch.randn(batch, SIDE), F.mse_loss


def transformer():
    net = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.1, batch_first=True)
    return net, torch.randn(2, 8, 128), torch.randn(2, 8, 128), F.mse_loss


def training(network, optimizer, device):
    """A step of the usual loop, and the network."""
    net, x, y, loss = network
    net, x, y = net.to(device), x.to(device), y.to(device)
    optimizer = optimizer(net.parameters())

    def step():
        optimizer.zero_grad()
        loss(net(x), y).backward()
        optimizer.step()
    return step, net


@program
def sgd(device):
    return training(cnn(), lambda p: torch.optim.SGD(p, 1e-3), device)[0]


@program
def momentum(device):
    return training(cnn(), lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9, foreach=False), device)[0]


@program
def weight_decay(device):
    """Weight decay of a transformer, with clipped gradients."""
    net, x, y, loss = transformer()
    net, x, y = net.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9, weight_decay=1e-4, nesterov=True)

    def step():
        optimizer.zero_grad()
        loss(net(x), y).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
    return step


@program
def ema(device):
    """A teacher that is averaged in place, and one whose values are replaced, as in MoCo's code."""
    train, net = training(mlp(), lambda p: torch.optim.SGD(p, 1e-3), device)
    teacher, key = (copy.deepcopy(net).requires_grad_(False) for _ in range(2))

    def step():
        train()
        with torch.no_grad():
            for p, t, k in zip(net.parameters(), teacher.parameters(), key.parameters()):
                t.mul_(0.999).add_(p, alpha=0.001)
                k.data = k.data * 0.999 + p.data * 0.001
    return step


@program
def polyak(device):
    """The target network of SAC and TD3 as in Spinning Up. The other network learns from its outputs."""
    net, x, _, loss = mlp()
    net, x = net.to(device), x.to(device)
    target, optimizer = copy.deepcopy(net), torch.optim.SGD(net.parameters(), 1e-3)
    for p in target.parameters():
        p.requires_grad = False

    def step():
        with torch.no_grad():
            backup = 0.1 + 0.99 * target(x)
        optimizer.zero_grad()
        loss(net(x), backup).backward()
        optimizer.step()
        with torch.no_grad():
            for p, t in zip(net.parameters(), target.parameters()):
                t.data.mul_(0.995)
                t.data.add_((1 - 0.995) * p.data)
    return step


@program
def accumulation(device):
    """Gradients of two batches, zeroed in place, and sums that never end: of outputs, and of squares of gradients."""
    net, x, y, loss = mlp(batch=112)
    net, x, y = net.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3, momentum=0.9)
    count = itertools.count()
    total, squares = torch.zeros_like(x), [torch.zeros_like(p) for p in net.parameters()]

    def step():
        for _ in range(2):
            out = net(x)
            total.add_(out.detach())
            (loss(out, y) / 2).backward()
        for s, p in zip(squares, net.parameters()):
            s += p.grad * p.grad
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
        if next(count) % 100 == 0:
            total.zero_()
    return step


@program
def rnn_state(device):
    """Truncated backpropagation: the state of a cell lives on, and each step computes a new average."""
    cell, head = nn.RNNCell(SIDE, SIDE).to(device), nn.Linear(SIDE, SIDE).to(device)
    x, y = torch.randn(112, SIDE, device=device), torch.randn(112, SIDE, device=device)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], 1e-3, momentum=0.9)
    state = {"hidden": torch.zeros(112, SIDE, device=device), "average": torch.zeros(SIDE, SIDE, device=device)}

    def step():
        hidden, total = state["hidden"].detach() * 0.99, 0
        for _ in range(3):
            hidden = cell(x, hidden)
            total = total + F.mse_loss(head(hidden), y)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        state["hidden"] = hidden
        state["average"] = 0.999 * state["average"] + 0.001 * head.weight.detach()
    return step


@program
def gan(device):
    make = lambda out: nn.Sequential(nn.Linear(SIDE, SIDE), nn.LeakyReLU(0.2), nn.Linear(SIDE, out)).to(device)
    generator, critic = make(SIDE), make(1)
    both = torch.optim.SGD(generator.parameters(), 1e-3, momentum=0.5), torch.optim.SGD(critic.parameters(), 1e-3)
    x, noise = torch.randn(8, SIDE, device=device), torch.randn(8, SIDE, device=device)

    def step():
        fake = generator(noise)
        both[1].zero_grad()
        (F.softplus(-critic(x)).mean() + F.softplus(critic(fake.detach())).mean()).backward()
        both[1].step()
        both[0].zero_grad()
        F.softplus(-critic(fake)).mean().backward()
        both[0].step()
        with torch.no_grad():
            for p in critic.parameters():
                p.clamp_(-0.1, 0.1)  # as in WGAN
    return step


@program
def lbfgs(device):
    net, x, y, loss = mlp()
    net, x, y = net.to(device), x.to(device), y.to(device)
    # No value of a simulated GPU ends an iteration.
    optimizer = torch.optim.LBFGS(net.parameters(), 1e-3, max_iter=2, history_size=4, tolerance_grad=-1, tolerance_change=-1)

    def closure():
        optimizer.zero_grad()
        value = loss(net(x), y)
        value.backward()
        return value
    return lambda: optimizer.step(closure)


@program
def adam(device):
    return training(transformer(), lambda p: torch.optim.Adam(p, 1e-4, foreach=False), device)[0]


@program
def foreach(device):
    """Optimizer, clipping and average by lists of tensors."""
    net, x, y, loss = mlp()
    net, x, y = net.to(device), x.to(device), y.to(device)
    parameters = list(net.parameters())
    averages = [p.detach().clone() for p in parameters]
    optimizer = torch.optim.SGD(parameters, 1e-3, momentum=0.9, weight_decay=1e-4, foreach=True)

    def step():
        optimizer.zero_grad()
        loss(net(x), y).backward()
        nn.utils.clip_grad_norm_(parameters, 1.0, foreach=True)
        optimizer.step()
        with torch.no_grad():
            torch._foreach_mul_(averages, 0.999)
            torch._foreach_add_(averages, parameters, alpha=0.001)
    return step


@program
def fused(device):
    return training(cnn(), lambda p: torch.optim.AdamW(p, 1e-4, fused=True), device)[0]


@program
def autocast(device):
    """Forwards whose graph is dropped, usual steps, and two steps in one context of autocast, which keeps old copies of the weights."""
    net = nn.Sequential(*(nn.Linear(256, 256) for _ in range(3))).to(device)
    x = torch.randn(256, 256, device=device)
    optimizer = torch.optim.SGD(net.parameters(), 1e-3, foreach=False)

    def context():
        return torch.autocast(device, torch.bfloat16)

    def learn(loss):
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def step():
        with context():
            net(x)
        with context():
            loss = net(x).float().square().mean()
        learn(loss)
        with context():
            for _ in range(2):
                learn(net(x).float().square().mean())
    return step


def run(name, steps, device):
    """The first measured step, and the samples: step, KB of this process, KB of its parent."""
    torch.manual_seed(0)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # an earlier program's growth must not hide this one's
    step, parent = PROGRAMS[name](device), os.getppid()
    begin = min(200, steps // 2)
    every = max(1, (steps - begin) // 40)
    samples, started = [], time.perf_counter()
    for number in range(1, steps + 1):
        step()
        if number == steps or number >= begin and (number - begin) % every == 0:
            samples.append([number, anonymous_kb(), anonymous_kb(parent)])
            if samples[-1][1] - samples[0][1] > STOP_AT_KB:
                break
    return {"program": name, "samples": samples, "seconds": time.perf_counter() - started}


def main():
    torch.set_num_threads(1)
    steps, device, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    for name in names:
        print(json.dumps(run(name, steps, device)), flush=True)


if __name__ == "__main__":
    main()
