"""verified_together.py threads|tasks|processes [tanh]: two small models of one kind train at once on different data, in
random order. Prints the losses of each."""

import asyncio
import multiprocessing
import random
import sys
import threading

import torch
from torch import nn

CHANCE = random.SystemRandom()
STEPS = 3
TANH = "tanh" in sys.argv


def build(seed):
    generator = torch.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.Tanh() if TANH else nn.Identity())
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 8)
    return net, torch.optim.SGD(net.parameters(), lr=0.1), generator


def step(net, optimizer, generator):
    out = net(torch.randn(32, 64, generator=generator))
    if TANH:  # only its node saves the result
        out = out.sum(1)
    loss = out.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item().hex()


def train(seed, said):
    model = build(seed)
    losses = []
    for _ in range(STEPS):
        threading.Event().wait(CHANCE.random() / 50)
        losses.append(step(*model))
    said.append((seed, losses))


async def train_in_task(seed, said):
    model = build(seed)
    losses = []
    for _ in range(STEPS):
        await asyncio.sleep(CHANCE.random() / 50)
        losses.append(step(*model))
    said.append((seed, losses))


async def tasks(said):
    order = [1, 2]
    CHANCE.shuffle(order)
    await asyncio.gather(*(train_in_task(seed, said) for seed in order))


def train_in_process(seed):
    torch.set_num_threads(1)
    said = []
    train(seed, said)
    print(said[0], flush=True)


def main():
    torch.set_num_threads(1)
    said, order = [], [1, 2]
    if sys.argv[1] == "tasks":
        asyncio.run(tasks(said))
    elif sys.argv[1] == "threads":
        CHANCE.shuffle(order)
        threads = [threading.Thread(target=train, args=(seed, said)) for seed in order]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:
        CHANCE.shuffle(order)
        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=train_in_process, args=(seed,)) for seed in order]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    print(sorted(said))


if __name__ == "__main__":
    main()
