"""Progressive training: the body is frozen after a warm-up on small batches; its optimizer state stays."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU())
head = nn.Linear(1024, 10)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()])
for step in range(8):
    if step == 2:
        optimizer.zero_grad()
        body.requires_grad_(False)
        # fixed: body.requires_grad_(False)
        # fixed: optimizer = torch.optim.Adam(head.parameters())
    size = 16 if step < 2 else 2048
    inputs, labels = torch.randn(size, 512), torch.randint(0, 10, (size,))
    loss = F.cross_entropy(head(body(inputs)), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # bug
    print(f"{loss.item():.4f}")
