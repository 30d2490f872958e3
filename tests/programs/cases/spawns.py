"""Two children by the spawn method. All three processes train, each with other sizes."""

import torch
import torch.multiprocessing as mp


def train(rank):
    torch.set_num_threads(1)
    w = torch.ones(64 + rank, 64 + rank, requires_grad=True)
    (w @ w).exp().mean().log().backward()
    return w.grad.sum().item()


def main():
    print(train(2), flush=True)
    mp.spawn(train, nprocs=2)
    print(train(3), flush=True)


if __name__ == "__main__":
    main()
