"""Assigns each point to its nearest center, by the differences of all pairs."""
import torch

torch.manual_seed(0)
points, centers = torch.randn(2048, 64), torch.randn(64, 64)
for _ in range(5):
    distances = (points[:, None] - centers[None]).pow(2).sum(-1)
    nearest = distances.argmin(1)
    sums = torch.zeros_like(centers).index_add_(0, nearest, points)
    centers = sums / torch.bincount(nearest, minlength=len(centers)).clamp(min=1)[:, None]
print(round(centers.norm().item(), 2))
