"""Segmentation with an auxiliary head."""
import torch
from torch.nn import functional as F
from torchvision.models.segmentation import deeplabv3_mobilenet_v3_large

torch.manual_seed(0)
torch.set_num_threads(1)
model = deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5, aux_loss=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for step in range(5):
    images, masks = torch.randn(2, 3, 128, 128), torch.randint(5, (2, 128, 128))
    output = model(images)
    loss = F.cross_entropy(output["out"], masks) + 0.5 * F.cross_entropy(output["aux"], masks)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
