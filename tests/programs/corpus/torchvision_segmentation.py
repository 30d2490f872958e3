"""Semantic segmentation with the two losses of the references of torchvision."""
import torch
from torch.nn import functional as F
from torchvision.models.segmentation import lraspp_mobilenet_v3_large


def main():
    torch.manual_seed(1)
    model = lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    for step in range(3):
        images, masks = torch.randn(2, 3, 96, 96), torch.randint(0, 5, (2, 96, 96))
        loss = F.cross_entropy(model(images)["out"], masks, ignore_index=255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
