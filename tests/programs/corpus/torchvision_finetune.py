"""The head of a pretrained network; the body is frozen and runs without gradients."""
import torch
from torch import nn
from torchvision.models import resnet18


def main():
    torch.manual_seed(1)
    body = resnet18(num_classes=10)
    body.fc = nn.Identity()
    body.requires_grad_(False).eval()
    head = nn.Linear(512, 5)
    optimizer = torch.optim.AdamW(head.parameters(), lr=1e-3)
    for step in range(3):
        images, labels = torch.randn(8, 3, 64, 64), torch.randint(0, 5, (8,))
        with torch.no_grad():
            features = body(images)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(head(features), labels)
        loss.backward()
        optimizer.step()
        print(step, loss.item())


main()
