"""rewrite_host.py FUNCTION: programs that change memory without an operator: a storage gets other memory, views that
PyTorch does not know, collectives. Each prints the bits of its results."""

import ctypes
import hashlib
import sys
import tempfile

import torch
from torch.nn import functional as F

SIDE = 256


def digest(*tensors):
    return hashlib.sha256(b"".join(t.detach().clone(memory_format=torch.contiguous_format).numpy().tobytes() for t in tensors)).hexdigest()[:16]


def forward(x, weight):
    """Saves a bfloat16 copy of the weight. A cast can recompute the copy while the weight is unchanged."""
    with torch.autocast("cpu", torch.bfloat16):
        return F.linear(x, weight).float().square().mean()


def resized():
    """As FSDP does, frees the parameter's memory after the forward, and fills it again before the backward."""
    weight, small = torch.nn.Parameter(torch.randn(SIDE, SIDE)), torch.nn.Parameter(torch.randn(SIDE))
    kept = [p.detach().clone() for p in (weight, small)]
    for _ in range(3):
        x = torch.randn(SIDE, SIDE, requires_grad=True)
        loss = forward(F.layer_norm(x, (SIDE,), small), weight)
        storages = [p.untyped_storage() for p in (weight, small)]
        for storage in storages:
            storage.resize_(0)
        for storage, parameter, values in zip(storages, (weight, small), kept):
            storage.resize_(values.nbytes)
            with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(parameter):
                parameter.copy_(values)
        loss.backward()
        print(loss.item().hex(), digest(weight.grad, small.grad, x.grad))


def freed_for_good():
    """The program reuses the memory for other values. The backward must not read them."""
    weight = torch.nn.Parameter(torch.randn(SIDE, SIDE))
    for _ in range(3):
        x = torch.randn(SIDE, SIDE, requires_grad=True)
        loss = forward(x, weight)
        storage = weight.untyped_storage()
        storage.resize_(0)
        storage.resize_(4 * SIDE * SIDE)
        with torch.no_grad(), torch.autograd._unsafe_preserve_version_counter(weight):
            weight.copy_(torch.randn(SIDE, SIDE))
        loss.backward()
        print(loss.item().hex(), digest(weight.grad, x.grad, weight))


# Before 2.15, LibTorch moves shared memory on a request for its address, without a hook: docs/rewrites.md.
WRITES = [lambda w: w.add_(1)]
if tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 15):
    WRITES.append(lambda w: ctypes.memset(w.data_ptr(), 0, 4))


def views_elsewhere():
    """DLPack, numpy and an address: each must still be the parameter's memory after a write."""
    for take in (lambda w: torch.from_dlpack(w.detach()), lambda w: torch.from_numpy(w.detach().numpy()),
                 lambda w: w.untyped_storage().data_ptr()):
        weight = torch.nn.Parameter(torch.randn(SIDE, SIDE))
        view = take(weight)
        for write in WRITES:
            x = torch.randn(SIDE, SIDE, requires_grad=True)
            loss = forward(x, weight)
            torch.zeros(1)  # recomputable saves are released at the begin of an operator
            with torch.no_grad():
                write(weight)
            address = view if isinstance(view, int) else view.data_ptr()
            print(address == weight.data_ptr(), ctypes.c_float.from_address(address).value == weight[0, 0].item())
            loss.backward()
            print(loss.item().hex(), digest(weight.grad, x.grad))


def collectives():
    """A collective writes the result of an operator without a new version."""
    import torch.distributed as dist
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
        source, weight = (torch.nn.Parameter(torch.randn(SIDE, SIDE)) for _ in range(2))
        for is_written in (False, False, True, True):
            made = torch.relu(source)
            if is_written:
                dist.all_gather_into_tensor(made.data, 2 * made.detach())
            loss = (made * weight).square().mean()
            del made
            loss.backward()
            print(loss.item().hex(), digest(source.grad, weight.grad))
            source.grad = weight.grad = None
        dist.destroy_process_group()


def shared():
    """Another process writes the parameter: the backward reads the same values as in a bare program."""
    weight = torch.nn.Parameter(torch.randn(SIDE, SIDE).share_memory_())
    x = torch.randn(SIDE, SIDE, requires_grad=True)
    for _ in range(2):
        loss = forward(x, weight)
        other = torch.multiprocessing.get_context("spawn").Process(target=fill, args=(weight.detach(),))
        other.start()
        other.join()
        loss.backward()
        print(loss.item().hex(), digest(weight.grad, x.grad, weight))


def fill(tensor):
    tensor.mul_(0.5)


def activations():
    """For a rewrite that throws."""
    weight = torch.nn.Parameter(torch.randn(SIDE, SIDE))
    for _ in range(2):
        x = torch.randn(SIDE, SIDE)
        loss = (torch.relu(x @ weight) @ weight).tanh().exp().mean()
        loss.backward()
        print(loss.item().hex(), digest(weight.grad))


def sigmoid():
    weight = torch.nn.Parameter(torch.randn(SIDE, SIDE))
    (torch.randn(SIDE, SIDE) @ weight).sigmoid().sum().backward()


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    globals()[sys.argv[1]]()
