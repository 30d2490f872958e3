"""An evaluation keeps the logits of all batches for one argmax at its end."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 4096)).eval()
outputs, targets = [], []
with torch.no_grad():
    for _ in range(24):
        batch, target = torch.randn(256, 64), torch.randint(0, 4096, (256,))
        outputs.append(model(batch))
        targets.append(target)
    hits = torch.cat(outputs).argmax(-1) == torch.cat(targets)
print(hits.float().mean().item())
