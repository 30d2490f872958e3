"""All embeddings of a data set, joined batch by batch."""
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 256)).eval()
embeddings = torch.empty(0, 256)
# fixed: embeddings = torch.empty(12 * 512, 256)
with torch.no_grad():
    for batch in range(12):
        embeddings = torch.cat([embeddings, model(torch.randn(512, 64))])  # bug
        # fixed: embeddings[512 * batch:512 * (batch + 1)] = model(torch.randn(512, 64))
print(f"{float(embeddings.sum()):.3f}")
