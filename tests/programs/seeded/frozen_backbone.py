"""A head that is trained on a backbone which is not, though its graph is made and differentiated."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
backbone = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Tanh(), nn.Conv2d(16, 16, 3, padding=1), nn.Tanh(),
                         nn.AvgPool2d(8), nn.Flatten())
head = nn.Linear(256, 10)
optimizer = torch.optim.Adam(head.parameters())
for _ in range(4):
    images, labels = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
    features = backbone(images)  # bug
    loss = F.cross_entropy(head(features), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
