"""Fine-tune torchvision's ResNet-50 on CUDA: only the last stage and the head learn, the stages before it are frozen.

The frozen stages run outside of torch.no_grad(), and their batch normalisations still train. Since nothing before the last
stage wants a gradient, autograd keeps nothing there: that is as it should be. Thaw more of it with --learn and see the peak
grow:  --learn layer3 layer4"""

import argparse

import torch
from torch.nn import functional as F
from torchvision.models import resnet50


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--image", type=int, default=224)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--learn", nargs="+", default=["layer4"], metavar="STAGE", help="trained stages besides the head")
    args = parser.parse_args()
    torch.manual_seed(0)

    with torch.device("cuda"):
        model = resnet50(weights=None, num_classes=10)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name.split(".")[0] in [*args.learn, "fc"])
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.01, momentum=0.9)

    for step in range(args.steps):
        # As from a loader: made on the host, copied while the GPU still computes.
        images = torch.randn(args.batch, 3, args.image, args.image, pin_memory=True).to("cuda", non_blocking=True)
        labels = torch.randint(0, 10, (args.batch,), pin_memory=True).to("cuda", non_blocking=True)
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item()!r}", flush=True)
    print(f"peak {torch.cuda.max_memory_allocated()} bytes, as PyTorch counts them")


if __name__ == "__main__":
    main()
