"""A training without an optimizer of PyTorch that marks its steps and regions itself: marked.py [HOW]."""

import sys

import tapelens
import torch
from torch import nn

HOW = sys.argv[1] if len(sys.argv) > 1 else "steps"
STEPS = 4


@tapelens.region("update")
def update(net):
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= 0.01 * parameter.grad
            parameter.grad = None


def evaluate(net, count):
    with tapelens.region("evaluation"), torch.no_grad():
        return net(torch.randn(count, 256)).sum().item()


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
    evaluate(net, 16384)  # the largest peak; --marked and start() leave it out
    tapelens.start() if HOW == "window" else None
    total = 0.0
    for number in range(STEPS):
        # Two backwards in each step. Without marks, Tapelens takes each for a step.
        for _ in range(2):
            with tapelens.region("forward"):
                loss = net(torch.randn(1024, 256)).square().mean()
            loss.backward()
        total += loss.item()
        update(net)
        tapelens.step() if HOW == "steps" else None
        if HOW == "window" and number == 1:
            tapelens.stop()
    print(f"{total:.6f} {tapelens.is_recorded()}")


main()
