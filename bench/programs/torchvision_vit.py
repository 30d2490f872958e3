"""A vision transformer, two micro-batches a step."""
import torch
from torch import nn
from torchvision.models import VisionTransformer

torch.manual_seed(0)
torch.set_num_threads(1)
model = VisionTransformer(image_size=64, patch_size=8, num_layers=6, num_heads=6, hidden_dim=192, mlp_dim=768, dropout=0.1,
                          attention_dropout=0.1, num_classes=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
for step in range(5):
    optimizer.zero_grad()
    total = 0.0
    for _ in range(2):
        images, labels = torch.randn(8, 3, 64, 64), torch.randint(10, (8,))
        loss = nn.functional.cross_entropy(model(images), labels) / 2
        loss.backward()
        total += loss.item()
    optimizer.step()
    print(step, total)
