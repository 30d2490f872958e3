"""Memory that no operator allocates: storages, and copies of tensors and of state_dicts. Usage: storages.py DEVICE.
Prints the process id."""
import copy
import gc
import io
import os
import sys
import threading

import torch

DEVICE = sys.argv[1]


def a_storage():
    return torch.UntypedStorage(48 << 20, device=DEVICE)


def a_copy(tensor):
    return copy.deepcopy(tensor)


def a_checkpoint(net):
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    return torch.load(file, map_location=DEVICE)


def in_a_thread():
    made = []
    thread = threading.Thread(target=lambda: made.append(torch.UntypedStorage(5 << 20, device=DEVICE)))
    thread.start()
    thread.join()
    return made


net = torch.nn.Linear(1024, 1024, bias=False, device=DEVICE)  # 4 MiB
kept = [a_storage(), a_copy(net.state_dict()), a_checkpoint(net), in_a_thread()]
for _ in range(100):
    gone = torch.UntypedStorage(1 << 20, device=DEVICE)
    del gone
gc.collect()
net(torch.ones(1, 1024, device=DEVICE)).sum().backward()
print(os.getpid())
