"""Concatenations all the way, checkpointed by the model itself."""
import torch
from torch import nn
from torchvision.models import DenseNet

torch.manual_seed(0)
torch.set_num_threads(1)
model = DenseNet(growth_rate=16, block_config=(4, 8, 8), num_init_features=32, drop_rate=0.1, num_classes=10,
                 memory_efficient=True)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
for step in range(5):
    images, labels = torch.randn(4, 3, 128, 128), torch.randint(10, (4,))
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
