"""Two tasks over a common body, weighed by torchjd."""
import torch
from torch import nn
from torchjd.aggregation import MGDA
from torchjd.autojac import jac_to_grad, mtl_backward
from torchvision.models import resnet18

torch.manual_seed(0)
torch.set_num_threads(1)
body = resnet18(num_classes=64)
classify, regress = nn.Linear(64, 10), nn.Sequential(nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam([*body.parameters(), *classify.parameters(), *regress.parameters()], lr=1e-3)
for step in range(5):
    images, labels, values = torch.randn(8, 3, 64, 64), torch.randint(10, (8,)), torch.randn(8, 2)
    features = body(images)
    losses = [nn.functional.cross_entropy(classify(features), labels), nn.functional.mse_loss(regress(features), values)]
    mtl_backward(losses, features=features)
    jac_to_grad(body.parameters(), MGDA())
    optimizer.step()
    optimizer.zero_grad()
    print(step, *(loss.item() for loss in losses))
