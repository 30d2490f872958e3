"""Raises two exceptions in the middle of a backward. The program catches the first one only."""

import torch


class Raises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError("on purpose")


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    w = torch.randn(32, 32, requires_grad=True)
    try:
        Raises.apply(w.exp()).tanh().sum().backward()
    except RuntimeError as error:
        print("caught", error)
    w.exp().sum().backward()
    print(w.grad.sum().item())
    Raises.apply(w.exp()).sum().backward()


main()
