"""Training from scratch, with gradients clipped and a schedule."""
import torch
from torch import nn
from torchvision.models import mobilenet_v3_large

torch.manual_seed(0)
torch.set_num_threads(1)
model = mobilenet_v3_large(num_classes=10)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, momentum=0.9, weight_decay=1e-5)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=5)
for step in range(5):
    images, labels = torch.randn(8, 3, 128, 128), torch.randint(10, (8,))
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    print(step, loss.item())
