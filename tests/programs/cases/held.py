"""Programs whose tensors variables hold, for searches near the peak and after an out of memory. Each tensor has its own
number of bytes."""

import resource
import sys
import tempfile
import time
import types

import numpy
import torch

MIB = 1 << 20


def evaluate():
    """No optimizer and no backward: a loop that collects outputs, of which the last is the most."""
    net = torch.nn.Linear(1024, 1024)
    outputs = []
    with torch.no_grad():
        for batch in range(24):
            x = torch.ones(1024, 1024)
            outputs.append(net(x))
            x = None
    return len(outputs)


def load():
    """Memory that no operator of the program allocates: a checkpoint, a storage, a parameter of a module that is never
    called, a view, an array."""
    with tempfile.NamedTemporaryFile(suffix=".pt") as file:
        torch.save({"weight": torch.ones(MIB), "bias": torch.ones(MIB // 2)}, file.name)
        global CHECKPOINT
        CHECKPOINT = torch.load(file.name)
    kept = types.SimpleNamespace()
    kept.storage = torch.UntypedStorage(3 * MIB)
    kept.storage.fill_(1)
    kept.averaged = torch.nn.Linear(1024, 1280, bias=False)  # 5 MiB
    kept.view = torch.ones(6, MIB // 4)[1:2]
    kept.array = torch.ones(7 * MIB // 4).numpy()
    torch.ones(8 * MIB // 4).sum()
    return torch.ones(4).sum().item()


def gradients():
    """torch.autograd.grad in a loop."""
    weight = torch.ones(1024, 1024, requires_grad=True)
    norms = []
    for _ in range(16):
        (gradient,) = torch.autograd.grad((weight * 2).square().sum(), weight)
        norms.append(gradient)
    return len(norms)


def arrays():
    """Memory that is not PyTorch's."""
    torch.ones(MIB).sum()
    array = numpy.ones(1536 * MIB // 8)
    return array.nbytes // MIB


def broken():
    """A search fails."""
    def fails():
        raise ZeroDivisionError
    time.thread_time = fails
    return evaluate()


def fill(device):
    """Fills the memory, with a cache that a handler of the error then drops."""
    cache = {}
    batch = torch.zeros(2 * MIB, dtype=torch.uint8, device=device)
    try:
        for number in range(1 << 16):
            cache[number] = torch.zeros(16 * MIB, dtype=torch.uint8, device=device)
    except RuntimeError as error:
        kind = type(error).__name__
    cache.clear()
    return kind, batch.shape[0] // MIB, torch.zeros(20 * MIB, dtype=torch.uint8, device=device).shape[0] // MIB


def fill_host(uncaught):
    """The same on the CPU, in a limited address space."""
    torch.ones(1).sum()
    with open("/proc/self/statm", encoding="ascii") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + 512 * MIB, resource.getrlimit(resource.RLIMIT_AS)[1]))
    return fill("cpu") if not uncaught else [torch.zeros(16 * MIB, dtype=torch.uint8) for _ in range(1 << 16)]


CASES = {"evaluate": evaluate, "load": load, "gradients": gradients, "arrays": arrays, "broken": broken, "cuda": lambda: fill("cuda"),
         "host": lambda: fill_host(False), "uncaught": lambda: fill_host(True)}
if __name__ == "__main__":
    print(CASES[sys.argv[1]]())
