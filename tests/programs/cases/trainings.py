"""trainings.py NAME: a net of torchvision, timm or transformers, trained for three steps and evaluated once, as in its
documentation. No statement is redundant."""

import sys

import torch
from torch import nn

from nets import NETS

# The side of the images.
VISION = {
    "resnet18": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64, "efficientnet_b0": 64, "squeezenet1_1": 64,
    "shufflenet_v2": 64, "convnext_tiny": 32, "regnet_y_400mf": 64, "inception_v3": 75, "vision_transformer": 32,
    "swin": 64, "timm_vit": 160, "timm_efficientnet": 64, "timm_convnext": 64,
}
LANGUAGE = ["bert", "gpt2", "llama", "mixtral", "t5", "mamba"]
STEPS, BATCH, TOKENS = 3, 4, 16


def of_images(net, size):
    """Batches, and the function that computes the loss of a batch."""
    criterion = nn.CrossEntropyLoss()
    batches = [(torch.randn(BATCH, 3, size, size), torch.randint(0, 10, (BATCH,))) for _ in range(STEPS)]
    return batches, lambda batch: criterion(net(batch[0]), batch[1])


def of_text(net):
    batches = [torch.randint(2, 90, (BATCH, TOKENS)) for _ in range(STEPS)]
    return batches, lambda batch: net(input_ids=batch, labels=batch).loss


def train(name):
    torch.manual_seed(0)
    net = NETS[name]()[0]
    batches, loss_of = of_images(net, VISION[name]) if name in VISION else of_text(net)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
    net.train()
    running = 0.0
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()
        optimizer.step()
        running += loss.item()
    print(f"{name} train {running / STEPS!r}")
    net.eval()
    with torch.no_grad():
        print(f"{name} eval {loss_of(batches[0]).item()!r}")


def main():
    torch.set_num_threads(1)
    train(sys.argv[1])


if __name__ == "__main__":
    main()
