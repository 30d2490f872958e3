"""The oracle: the saves of a thread, by PyTorch's own saved-tensor hooks, and the gradients of its optimizer steps. It
writes FOLDER/PID.json when the process ends. Hooks of the program itself (checkpoint, save_on_cpu) hide their saves
from the outer hooks; the oracle counts them where they are pushed."""

import atexit
import json
import os
import pathlib
import threading

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.optim.optimizer import register_optimizer_step_pre_hook

COUNTS = {"count": 0, "logical_bytes": 0, "gradients": 0, "parts": {}}
LOCK = threading.Lock()
PUSH = torch._C._autograd._push_saved_tensors_default_hooks
HOOKS = []  # one for each thread, never left


def parts_of(tensor, path=""):
    """(path, tensor) of the ordinary tensors that it consists of: itself, or those of a wrapper subclass."""
    if not hasattr(type(tensor), "__tensor_flatten__"):
        return [(path, tensor)]
    inner = [(f"{path}.{name}", getattr(tensor, name)) for name in tensor.__tensor_flatten__()[0]]
    return [part for name, one in inner if isinstance(one, torch.Tensor) for part in parts_of(one, name)]


def note(tensor):
    for path, one in parts_of(tensor):
        with LOCK:
            size = one.numel() * one.element_size()
            COUNTS["count"] += 1
            COUNTS["logical_bytes"] += size
            of = COUNTS["parts"].setdefault(path, [0, 0])
            of[0] += 1
            of[1] += size


def counted_push(pack, unpack):
    def counted_pack(tensor):
        packed = pack(tensor)  # checkpoint stops its recomputation by throwing here: then nothing is saved
        note(tensor)
        return packed
    PUSH(counted_pack, unpack)


def count_gradients(optimizer, _args, _kwargs):
    with LOCK:
        COUNTS["gradients"] += sum(p.grad is not None for group in optimizer.param_groups for p in group["params"])


def watch(folder):
    if not HOOKS:
        torch._C._autograd._push_saved_tensors_default_hooks = counted_push
        register_optimizer_step_pre_hook(count_gradients)
        path = pathlib.Path(folder) / f"{os.getpid()}.json"
        atexit.register(lambda: path.write_text(json.dumps(COUNTS), encoding="utf-8"))
    HOOKS.append(saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor))
    HOOKS[-1].__enter__()
