"""Fine-tuning: a frozen backbone, its last stage and a new classifier trained."""
import torch
from torch import nn
from torchvision.models import resnet50

torch.manual_seed(0)
torch.set_num_threads(1)
model = resnet50()
model.requires_grad_(False)
model.layer4.requires_grad_(True)
model.fc = nn.Linear(model.fc.in_features, 10)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01, momentum=0.9)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for step in range(5):
    images, labels = torch.randn(4, 3, 160, 160), torch.randint(10, (4,))
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    print(step, loss.item())
