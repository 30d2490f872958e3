"""Detection: boxes, sampled anchors, four losses."""
import torch
from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

torch.manual_seed(0)
torch.set_num_threads(1)
model = fasterrcnn_mobilenet_v3_large_320_fpn(weights=None, weights_backbone=None, num_classes=4)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
for step in range(4):
    images = [torch.rand(3, 160, 200), torch.rand(3, 180, 160)]
    targets = []
    for image in images:
        corner = torch.rand(3, 2) * 80
        boxes = torch.cat([corner, corner + 20 + torch.rand(3, 2) * 40], dim=1)
        targets.append({"boxes": boxes, "labels": torch.randint(1, 4, (3,))})
    losses = model(images, targets)
    loss = sum(losses.values())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
