"""Differential privacy: gradients of each example, clipped and noised, by hooks on modules."""
import torch
from opacus import PrivacyEngine
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 16, 8, 2, padding=3), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2, 1),
                      nn.Conv2d(16, 32, 4, 2), nn.ReLU(), nn.MaxPool2d(2, 1),
                      nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(160, 1, 28, 28), torch.randint(10, (160,))), batch_size=32)
generator = torch.Generator().manual_seed(0)
model, optimizer, loader = PrivacyEngine().make_private(module=model, optimizer=optimizer, data_loader=loader,
                                                        noise_multiplier=1.0, max_grad_norm=1.0, noise_generator=generator)
for step, (images, labels) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
