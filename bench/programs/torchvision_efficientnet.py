"""Training with stochastic depth, mixup and an average of the weights."""
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torchvision.models import efficientnet_b0
from torchvision.transforms import v2

torch.manual_seed(0)
torch.set_num_threads(1)
model = efficientnet_b0(num_classes=10)
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
mixup = v2.MixUp(num_classes=10)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(5):
    images, labels = mixup(torch.randn(4, 3, 128, 128), torch.randint(10, (4,)))
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update_parameters(model)
    print(step, loss.item())
