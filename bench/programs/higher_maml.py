"""Learning to learn: gradients through steps of an inner optimizer."""
import higher
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
torch.set_num_threads(1)
model = nn.Sequential(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32, track_running_stats=False), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32, track_running_stats=False), nn.ReLU(), nn.MaxPool2d(2),
                      nn.Flatten(), nn.Linear(32 * 7 * 7, 5))
outer, inner = torch.optim.Adam(model.parameters(), lr=1e-3), torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    outer.zero_grad()
    total = 0.0
    for _ in range(2):
        images, labels = torch.randn(10, 1, 28, 28), torch.arange(5).repeat(2)
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (learner, updater):
            for _ in range(2):
                updater.step(F.cross_entropy(learner(images), labels))
            loss = F.cross_entropy(learner(torch.randn(10, 1, 28, 28)), labels)
            loss.backward()
            total += loss.item()
    outer.step()
    print(step, total)
