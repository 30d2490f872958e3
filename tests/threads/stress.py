"""Two threads train separate networks, and every backward runs on a third thread. scripts/threads runs this under
ThreadSanitizer."""

import threading

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 20


def train():
    net = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Conv2d(32, 32, 3, padding=1),
                        nn.GELU(), nn.Dropout(0.1), nn.Flatten(), nn.Linear(32 * 32 * 32, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
        loss = F.cross_entropy(net(x), y)
        backward = threading.Thread(target=loss.backward)
        backward.start()
        backward.join()
        optimizer.step()
        optimizer.zero_grad()


torch.manual_seed(0)
torch.set_num_threads(1)
threads = [threading.Thread(target=train) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
