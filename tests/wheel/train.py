"""A small training program. If its environment has COUNT, it prints the number of tensors that autograd saved, by
PyTorch's own hooks. COUNT does not change the bytes of its parameters."""

import contextlib
import hashlib
import os

import torch

saves = 0


def pack(tensor):
    global saves
    saves += 1
    return tensor


torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                          torch.nn.Flatten(), torch.nn.LazyLinear(32), torch.nn.GELU(), torch.nn.LayerNorm(32),
                          torch.nn.Dropout(0.1), torch.nn.Linear(32, 10))
with torch.no_grad():
    net(torch.randn(2, 3, 16, 16))
optimizer = torch.optim.AdamW(net.parameters())
hooks = torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor)
with hooks if "COUNT" in os.environ else contextlib.nullcontext():
    for _ in range(3):
        x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))
        loss = torch.nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
digest = hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest()
print(torch.__version__, f"{loss.item():.6f}", digest[:16])
if "COUNT" in os.environ:
    print(saves)
