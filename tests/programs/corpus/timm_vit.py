"""A vision transformer with timm's tools for its training: optimizer, schedule, mixup, soft targets."""
import timm
import torch
from timm.data import Mixup
from timm.loss import SoftTargetCrossEntropy
from timm.optim import create_optimizer_v2
from timm.scheduler import CosineLRScheduler


def main():
    torch.manual_seed(1)
    model = timm.create_model("vit_tiny_patch16_224", img_size=64, num_classes=10, depth=4, drop_path_rate=0.1)
    optimizer = create_optimizer_v2(model, opt="adamw", lr=1e-3, weight_decay=0.05)
    schedule = CosineLRScheduler(optimizer, t_initial=4, warmup_t=1)
    mixup = Mixup(mixup_alpha=0.8, cutmix_alpha=0.0, num_classes=10)
    criterion = SoftTargetCrossEntropy()
    for step in range(3):
        images, labels = mixup(torch.randn(8, 3, 64, 64), torch.randint(0, 10, (8,)))
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step(step + 1)
        print(step, loss.item())


main()
