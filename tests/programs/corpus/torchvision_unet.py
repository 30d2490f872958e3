"""A U-Net with skip connections."""
import torch
from torch import nn
from torchvision.ops import Conv2dNormActivation


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([Conv2dNormActivation(3, 16), Conv2dNormActivation(16, 32), Conv2dNormActivation(32, 64)])
        self.up = nn.ModuleList([Conv2dNormActivation(96, 32), Conv2dNormActivation(48, 16)])
        self.pool, self.grow = nn.MaxPool2d(2), nn.Upsample(scale_factor=2)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else self.pool(x))
            skips.append(x)
        for block, skip in zip(self.up, reversed(skips[:-1])):
            x = block(torch.cat([self.grow(x), skip], 1))
        return self.out(x)


def main():
    torch.manual_seed(1)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(3):
        images, masks = torch.randn(4, 3, 64, 64), (torch.rand(4, 1, 64, 64) > 0.5).float()
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.binary_cross_entropy_with_logits(model(images), masks)
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
