"""Shared by the cuda_*.py programs. At its end each writes PyTorch's own counts of its allocator to the file that CUDA_STATS
names: the process and, for each GPU, torch.cuda.memory_stats(). Peaks are of the whole process, because no program resets them."""

import json
import os
import pathlib
import sys

import torch


def begin():
    """Call this before the first allocation. CUDA_FRACTION: the share of the GPU's memory that the process may use.
    Without such a limit, garbage_collection_threshold has no effect."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    if "CUDA_FRACTION" in os.environ:
        torch.cuda.set_per_process_memory_fraction(float(os.environ["CUDA_FRACTION"]))


def end(**more):
    torch.cuda.synchronize()
    counts = [torch.cuda.memory_stats(device) for device in range(torch.cuda.device_count())]
    if "CUDA_STATS" in os.environ:
        written = {"pid": os.getpid(), "devices": counts, **more}
        pathlib.Path(os.environ["CUDA_STATS"]).write_text(json.dumps(written), encoding="utf-8")
    print("done", flush=True)
    sys.stderr.flush()
    # Exits without the finalization of the interpreter. A thread of PyTorch's engine may release a Python object in it,
    # which sometimes aborts the process, also without a recording.
    os._exit(0)


def run(cases):
    """Runs the named functions, or all, one after another."""
    begin()
    for name in sys.argv[1:] or cases:
        cases[name]()
        print(name, flush=True)
    end()
