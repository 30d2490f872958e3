"""Metrics of torchmetrics, updated with detached predictions."""
import torch
from torch import nn
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score


def main():
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 5))
    optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
    metrics, mean = MetricCollection([MulticlassAccuracy(5), MulticlassF1Score(5)]), MeanMetric()
    for _ in range(2):
        for _ in range(3):
            inputs, labels = torch.randn(128, 64), torch.randint(0, 5, (128,))
            logits = model(inputs)
            loss = nn.functional.cross_entropy(logits, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean.update(loss.detach())
            metrics.update(logits.detach(), labels)
        print(mean.compute().item(), metrics.compute()["MulticlassAccuracy"].item())
        metrics.reset()
        mean.reset()


main()
