"""Style transfer: trains the image, by L-BFGS with a closure, through frozen features."""
import torch
from torch.nn import functional as F
from torchvision.models import vgg11

torch.manual_seed(0)
torch.set_num_threads(1)
features = vgg11().features[:11].eval().requires_grad_(False)
for number, layer in enumerate(features):
    if isinstance(layer, torch.nn.ReLU):
        features[number] = torch.nn.ReLU(inplace=False)


def gram(x):
    x = x.flatten(2)
    return x @ x.transpose(1, 2) / x[0].numel()


def described(image):
    styles = []
    for layer in features:
        image = layer(image)
        if isinstance(layer, torch.nn.Conv2d):
            styles.append(gram(image))
    return image, styles


content, _ = described(torch.rand(1, 3, 96, 96))
_, styles = described(torch.rand(1, 3, 96, 96))
image = torch.rand(1, 3, 96, 96, requires_grad=True)
optimizer = torch.optim.LBFGS([image], max_iter=4)


def closure():
    optimizer.zero_grad()
    now, now_styles = described(image)
    loss = F.mse_loss(now, content) + 1e3 * sum(F.mse_loss(a, b) for a, b in zip(now_styles, styles))
    loss.backward()
    return loss


for step in range(4):
    print(step, optimizer.step(closure).item())
