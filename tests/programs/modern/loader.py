"""loader.py fork|spawn: batches of a DataLoader with two workers that transform tensors."""

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from common import finish, show, start


class Pictures(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        picture = torch.rand(3, 24, 24, generator=generator)
        if index % 2:
            picture = picture.flip(-1)
        return (picture - picture.mean()) / picture.std(), index % 10


def main():
    start()
    net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 121, 10))
    optimizer = torch.optim.Adam(net.parameters())
    loader = DataLoader(Pictures(), batch_size=16, shuffle=True, num_workers=2, multiprocessing_context=sys.argv[1],
                        generator=torch.Generator().manual_seed(0))
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        show(step, loss)
    finish(net)


if __name__ == "__main__":
    main()
