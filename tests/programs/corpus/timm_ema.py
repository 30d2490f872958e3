"""A ConvNet of timm, with gradients clipped adaptively and an average of its weights that is validated."""
import timm
import torch
from timm.utils import AverageMeter, ModelEmaV3, adaptive_clip_grad


def main():
    torch.manual_seed(1)
    model = timm.create_model("resnetv2_50", num_classes=10, layers=[1, 1, 1, 1])
    average = ModelEmaV3(model, decay=0.9)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    losses = AverageMeter()
    for step in range(3):
        images, labels = torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,))
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        adaptive_clip_grad(model.parameters())
        optimizer.step()
        average.update(model, step=step)
        losses.update(loss.item(), 8)
    average.module.eval()
    with torch.no_grad():
        print(losses.avg, average.module(torch.randn(8, 3, 64, 64)).mean().item())


main()
