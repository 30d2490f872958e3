"""Averages of the weights: an exponential one each step, a stochastic one at the end, with recomputed batch norms."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

from common import digest, finish, show, start

start()
net = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.LeakyReLU(0.1), nn.Flatten(), nn.Linear(16 * 196, 10))
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.9))
swa = AveragedModel(net, use_buffers=False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, nesterov=True)
schedule = SWALR(optimizer, swa_lr=0.01, anneal_epochs=2)
batches = [(torch.randn(32, 3, 16, 16), torch.randint(0, 10, (32,))) for _ in range(4)]
for step, (x, y) in enumerate(batches):
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    ema.update_parameters(net)
    if step >= 2:
        swa.update_parameters(net)
        schedule.step()
    show(step, loss)
update_bn((x for x, _ in batches), swa)
swa.eval()
with torch.inference_mode():
    show(0, F.cross_entropy(swa(batches[0][0]), batches[0][1]), "of the average")
print("averages", digest([*ema.parameters(), *swa.parameters(), *swa.buffers()]))
finish(net)
