"""Training and validation, as in the references of torchvision."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torchvision.models import mobilenet_v3_small


@torch.inference_mode()
def evaluate(model, loader):
    model.eval()
    correct = sum((model(images).argmax(1) == labels).sum().item() for images, labels in loader)
    model.train()
    return correct


def main():
    torch.manual_seed(1)
    model = mobilenet_v3_small(num_classes=10)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-5)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    train = DataLoader(TensorDataset(torch.randn(24, 3, 64, 64), torch.randint(0, 10, (24,))), batch_size=8, shuffle=True)
    test = DataLoader(TensorDataset(torch.randn(16, 3, 64, 64), torch.randint(0, 10, (16,))), batch_size=16)
    for epoch in range(2):
        for images, labels in train:
            loss = criterion(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        print(epoch, loss.item(), evaluate(model, test))


main()
