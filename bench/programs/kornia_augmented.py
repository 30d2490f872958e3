"""Differentiable augmentation: the sizes of the changes are trained with the net; SSIM as the loss."""
import kornia
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(24, 24, 3, padding=1), nn.Hardswish(),
                    nn.Conv2d(24, 3, 3, padding=1), nn.Sigmoid())
angle, sigma = nn.Parameter(torch.tensor([5.0])), nn.Parameter(torch.tensor([[1.5, 1.5]]))
optimizer = torch.optim.Adam([*net.parameters(), angle, sigma], lr=1e-2)
for step in range(5):
    images = torch.rand(4, 3, 96, 96)
    turned = kornia.geometry.rotate(images, angle.expand(4))
    blurred = kornia.filters.gaussian_blur2d(turned, (5, 5), sigma.expand(4, 2))
    restored = net(blurred)
    loss = kornia.losses.ssim_loss(restored, images, window_size=5) + kornia.losses.total_variation(restored).mean() * 1e-4
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
