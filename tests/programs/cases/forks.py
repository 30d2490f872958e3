"""Two forked children use torch, and end in the two possible ways. The parent trains before, meanwhile and after."""

import os
import sys

import torch


def train():
    w = torch.ones(64, 64, requires_grad=True)
    (w @ w).exp().mean().backward()
    return w.grad.sum().item()


def main():
    torch.set_num_threads(1)
    print("parent", train(), flush=True)
    for number in range(2):
        pid = os.fork()
        if pid == 0:
            print("child", number, train(), flush=True)
            if number:
                os._exit(number)
            sys.exit(0)
        train()
        print("ended", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
    print("parent", train(), flush=True)


main()
