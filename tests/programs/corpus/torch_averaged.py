"""Stochastic weight averaging; the average's statistics are taken without gradients."""
import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
    averaged = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = SWALR(optimizer, swa_lr=0.05)
    loader = DataLoader(TensorDataset(torch.randn(256, 64), torch.randint(0, 10, (256,))), batch_size=64)
    for _ in range(3):
        for inputs, labels in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        averaged.update_parameters(model)
        schedule.step()
    update_bn(loader, averaged)
    averaged.eval()
    with torch.inference_mode():
        correct = sum((averaged(inputs).argmax(1) == labels).sum().item() for inputs, labels in loader)
    print(correct)


main()
