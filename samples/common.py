"""Shared by the samples: the command line, the seeds, and printing of a loss (with every digit)."""

import argparse

import torch


def parse(description, steps=3, **extra):
    """The options every sample has; `extra` maps further flags to their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--size", choices=["small", "medium", "large"], default="small")
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1, help="threads of one operator; 0 leaves PyTorch's choice")
    parser.add_argument("--device", default="cpu", help="device of all tensors: cpu, cuda, cuda:1, ...")
    for name, default in extra.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(default, bool):
            parser.add_argument(flag, action="store_true", default=default)
        else:
            parser.add_argument(flag, type=type(default), default=default)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    if args.threads:
        torch.set_num_threads(args.threads)
    if args.device != "cpu":
        torch.set_default_device(args.device)
    return args


def pick(size, small, medium, large):
    """The value for --size."""
    return {"small": small, "medium": medium, "large": large}[size]


def show(step, loss, name="loss"):
    """One line, digits enough to tell two runs apart by one bit."""
    print(f"step {step} {name} {float(loss.detach())!r}", flush=True)
