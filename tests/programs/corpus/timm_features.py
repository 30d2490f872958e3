"""A decoder on the features of a frozen network of timm."""
import timm
import torch
from torch import nn


def main():
    torch.manual_seed(1)
    body = timm.create_model("resnet18", features_only=True, out_indices=(2, 4)).eval().requires_grad_(False)
    head = nn.ModuleList(nn.Conv2d(channels, 32, 1) for channels in body.feature_info.channels())
    out = nn.Conv2d(32, 4, 1)
    optimizer = torch.optim.AdamW([*head.parameters(), *out.parameters()], lr=1e-3)
    for step in range(3):
        images, masks = torch.randn(4, 3, 96, 96), torch.randint(0, 4, (4, 12, 12))
        with torch.no_grad():
            features = body(images)
        fine, coarse = (layer(feature) for layer, feature in zip(head, features))
        logits = out(fine + nn.functional.interpolate(coarse, size=fine.shape[-2:]))
        loss = nn.functional.cross_entropy(logits, masks)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
