"""A DataLoader with forked workers that feed a small convolutional net."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

from common import parse, pick, show


class Digits(Dataset):
    """Random images, each drawn from its own seed, so that the workers change nothing. Workers have the host's memory only."""

    def __init__(self, length, image):
        self.length, self.image = length, image

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        source = torch.Generator().manual_seed(index)
        return torch.rand(1, self.image, self.image, generator=source, device="cpu"), torch.tensor(index % 10, device="cpu")


class Net(nn.Module):
    def __init__(self, width, image):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, width, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(width, width, 3))
        self.head = nn.Linear(width * ((image - 2) // 2 - 2) ** 2, 10)

    def forward(self, x):
        return self.head(F.relu(self.features(x)).flatten(1))


def main():
    args = parse(__doc__, workers=2)
    width, image, batch = pick(args.size, (8, 16, 4), (32, 32, 32), (64, 64, 64))
    loader = DataLoader(Digits(args.steps * batch, image), batch_size=batch, num_workers=args.workers)
    model = Net(width, image)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images.to(args.device)), labels.to(args.device))
        loss.backward()
        optimizer.step()
        show(step, loss)


if __name__ == "__main__":
    main()
