"""Three steps of a small, partly frozen net, with saves for four rewrites. Prints the loss and a digest of all gradients
and parameters of each step."""

import hashlib

import torch
from torch import nn

BATCH, CHANNELS, SIDE, WIDTH, CLASSES = 4, 8, 8, 32, 500


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), nn.BatchNorm2d(CHANNELS), nn.ReLU(),
                                   nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1).requires_grad_(False), nn.ReLU6(), nn.MaxPool2d(2))
        self.project = nn.Linear(CHANNELS * (SIDE // 2)**2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.attend = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.head = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Dropout(0.2), nn.Linear(4 * WIDTH, CLASSES))

    def forward(self, x):
        rows = self.norm(self.project(self.convs(x).flatten(1))).unsqueeze(0)
        return self.head(rows + self.attend(rows, rows, rows, need_weights=False)[0]).squeeze(0)


torch.manual_seed(0)
torch.set_num_threads(1)
net = Net()
optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=0.01, foreach=True)
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(torch.randn(BATCH, 3, SIDE, SIDE)), torch.randint(0, CLASSES, (BATCH,)))
    loss.backward()
    digest = hashlib.sha256()
    for tensor in [p.grad for p in net.parameters() if p.grad is not None]:
        digest.update(tensor.numpy().tobytes())
    optimizer.step()
    for tensor in net.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    print("loss", repr(loss.item()), digest.hexdigest())
