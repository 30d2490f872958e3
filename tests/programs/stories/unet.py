"""Segmentation of volumes with a U-Net in the manner of MONAI: Dice loss, validation by a sliding window."""
import torch
from torch import nn


def convolution(inputs, outputs):
    return nn.Sequential(nn.Conv3d(inputs, outputs, 3, padding=1), nn.InstanceNorm3d(outputs), nn.ReLU())


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2 = convolution(1, 8), convolution(8, 16)
        self.bottom = convolution(16, 32)
        self.up2, self.up1 = convolution(32 + 16, 16), convolution(16 + 8, 8)
        self.pool, self.scale = nn.MaxPool3d(2), nn.Upsample(scale_factor=2)
        self.out = nn.Conv3d(8, 2, 1)

    def forward(self, x):
        x1 = self.down1(x)
        x2 = self.down2(self.pool(x1))
        x3 = self.bottom(self.pool(x2))
        x = self.up2(torch.cat([x2, self.scale(x3)], 1))
        x = self.up1(torch.cat([x1, self.scale(x)], 1))
        return self.out(x)


def dice_loss(logits, labels):
    p = logits.softmax(1)[:, 1]
    return 1 - 2 * (p * labels).sum() / (p.sum() + labels.sum() + 1e-5)


def sliding_window_inference(volume, size, network):
    return torch.cat([network(window) for window in volume.split(size, dim=2)], 2)


torch.manual_seed(0)
model = UNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
metric_values = []
for epoch in range(2):
    model.train()
    for _ in range(2):
        volume, labels = torch.randn(1, 1, 16, 32, 32), torch.randint(0, 2, (1, 16, 32, 32))
        optimizer.zero_grad()
        loss = dice_loss(model(volume), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    volume, labels = torch.randn(1, 1, 64, 32, 32), torch.randint(0, 2, (1, 64, 32, 32))
    logits = sliding_window_inference(volume, 16, model)
    metric_values.append(1 - dice_loss(logits, labels))
