"""oracle_saves.py OUT PROGRAM ARGS...: runs a program under PyTorch's own saved-tensor hooks and writes their counts.

Hooks of the program itself (checkpoint, save_on_cpu) hide their saves from the outer hooks. They are counted
separately, as `hidden`. Ranks of torchrun write OUT.RANK."""

import json
import os
import pathlib
import runpy
import sys

import torch
from torch.autograd.graph import saved_tensors_hooks


class Counter:
    def __init__(self):
        self.count = self.logical_bytes = self.hidden = self.hidden_bytes = 0

    def pack(self, tensor):
        self.count += 1
        self.logical_bytes += tensor.numel() * tensor.element_size()
        return tensor

    @staticmethod
    def unpack(tensor):
        return tensor

    def watch_other_hooks(self):
        """One C function pushes every further pair of hooks. Counts the inputs of its pack hook."""
        functions = torch._C._autograd
        push = functions._push_saved_tensors_default_hooks

        def counted_push(pack, unpack):
            def counted_pack(tensor):
                packed = pack(tensor)  # checkpoint stops its recomputation by throwing here: then nothing is saved
                self.hidden += 1
                self.hidden_bytes += tensor.numel() * tensor.element_size()
                return packed
            push(counted_pack, unpack)
        functions._push_saved_tensors_default_hooks = counted_push


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = str(pathlib.Path(program).resolve().parent)
    counter = Counter()
    with saved_tensors_hooks(counter.pack, counter.unpack):
        counter.watch_other_hooks()
        runpy.run_path(program, run_name="__main__")
    if "RANK" in os.environ:
        out += "." + os.environ["RANK"]
    pathlib.Path(out).write_text(json.dumps(vars(counter)), encoding="utf-8")


main()
