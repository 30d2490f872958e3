"""A DenseNet-like network: every layer concatenates all features before it, so the same bytes are saved often."""

import torch
from torch import nn
from torch.nn import functional as F

from common import parse, pick, show


class DenseLayer(nn.Module):
    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, 4 * growth, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, features):
        x = torch.cat(features, dim=1)
        x = self.conv1(F.relu(self.norm1(x)))
        return self.conv2(F.relu(self.norm2(x)))


class DenseNet(nn.Module):
    def __init__(self, growth, layers, classes):
        super().__init__()
        channels = 2 * growth
        self.stem = nn.Conv2d(3, channels, 3, padding=1, bias=False)
        self.blocks, self.transitions = nn.ModuleList(), nn.ModuleList()
        for _ in range(2):
            self.blocks.append(nn.ModuleList(DenseLayer(channels + i * growth, growth) for i in range(layers)))
            channels += layers * growth
            self.transitions.append(nn.Sequential(nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)))
            channels //= 2
        self.head = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.stem(x)
        for block, transition in zip(self.blocks, self.transitions):
            features = [x]
            for layer in block:
                features.append(layer(features))
            x = transition(torch.cat(features, dim=1))
        return self.head(x.mean(dim=(2, 3)))


def main():
    args = parse(__doc__)
    growth, layers, batch, image = pick(args.size, (4, 3, 4, 16), (16, 6, 8, 32), (32, 12, 16, 64))
    model = DenseNet(growth, layers, classes=10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    for step in range(args.steps):
        images, labels = torch.randn(batch, 3, image, image), torch.randint(0, 10, (batch,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        show(step, loss)


if __name__ == "__main__":
    main()
