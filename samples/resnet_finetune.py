"""Fine-tune a ResNet-like network: the backbone is frozen, only the head learns.

The mistake many make is in it on purpose: the frozen backbone runs outside of torch.no_grad() and behind one
trainable stem, so autograd saves activations for layers whose weights never change."""

import torch
from torch import nn
from torch.nn import functional as F

from common import parse, pick, show


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return self.relu(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, width, depth, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        stages, inputs = [], width
        for stage in range(3):
            outputs = width * 2**stage
            for block in range(depth):
                stages.append(Block(inputs, outputs, 2 if block == 0 and stage else 1))
                inputs = outputs
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.stages(self.stem(x))
        return self.head(x.mean(dim=(2, 3)))


def main():
    args = parse(__doc__.splitlines()[0])
    width, depth, batch, image = pick(args.size, (8, 1, 4, 32), (32, 2, 16, 64), (64, 3, 32, 112))
    model = ResNet(width, depth, classes=10)
    for parameter in model.stages.parameters():
        parameter.requires_grad_(False)
    learned = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.SGD(learned, lr=0.05, momentum=0.9)
    for step in range(args.steps):
        images = torch.randn(batch, 3, image, image)
        labels = torch.randint(0, 10, (batch,))
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        show(step, loss)


if __name__ == "__main__":
    main()
