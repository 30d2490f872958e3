"""An epoch of training, then one of evaluation, without torch.no_grad()."""
import torch
from torch import nn
from torch.nn import functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 16, 3, padding=1), nn.ReLU(),
                                      nn.AdaptiveAvgPool2d(4))
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


def train(model, optimizer, batches):
    model.train()
    for images, labels in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()


def evaluate(model, batches):
    model.eval()
    right = 0
    for images, labels in batches:
        logits = model(images)  # bug
        # fixed: with torch.no_grad():
        # fixed:     logits = model(images)
        right += int((logits.argmax(1) == labels).sum())
    return right


def batches(count, size):
    return [(torch.randn(size, 3, 32, 32), torch.randint(0, 10, (size,))) for _ in range(count)]


def main():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        train(model, optimizer, batches(3, 8))
        print(evaluate(model, batches(2, 64)))


main()
