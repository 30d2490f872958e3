"""Training with fake quantization, eager mode of torch.ao, and a last step with frozen observers and statistics."""

import warnings

import torch
from torch import nn
from torch.ao import quantization
from torch.nn import functional as F

from common import finish, show, start

warnings.simplefilter("ignore")
start()
net = nn.Sequential(quantization.QuantStub(), nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3, stride=2),
                    nn.ReLU(), nn.Flatten(), nn.Linear(16 * 81, 10), quantization.DeQuantStub())
net.train()
net.qconfig = quantization.get_default_qat_qconfig("x86")
quantization.fuse_modules_qat(net, [["1", "2", "3"], ["4", "5"]], inplace=True)
quantization.prepare_qat(net, inplace=True)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(4):
    if step == 3:
        net.apply(quantization.disable_observer)
        net.apply(torch.ao.nn.intrinsic.qat.freeze_bn_stats)
    x, y = torch.randn(16, 3, 22, 22), torch.randint(0, 10, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    show(step, loss)
finish(net)
