"""Object detection: the model gives its losses in training."""
import torch
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn


def main():
    torch.manual_seed(1)
    model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=3, min_size=96,
                                                  max_size=128)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.005, momentum=0.9)
    for step in range(2):
        images = [torch.rand(3, 96, 96), torch.rand(3, 96, 112)]
        targets = [{"boxes": torch.tensor([[8.0, 8.0, 60.0, 70.0]]), "labels": torch.tensor([1])},
                   {"boxes": torch.tensor([[20.0, 10.0, 90.0, 80.0]]), "labels": torch.tensor([2])}]
        losses = model(images, targets)
        loss = sum(losses.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, {name: round(value.item(), 3) for name, value in losses.items()})
    model.eval()
    with torch.inference_mode():
        print(len(model([torch.rand(3, 96, 96)])[0]["boxes"]) >= 0)


main()
