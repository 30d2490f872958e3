"""Programs for which PyTorch records its memory history: python cuda_snapshot.py FILE HOW [CASE...]. HOW is JSON: the
arguments of torch.cuda.memory._record_memory_history, and `when`, the part of the program with the history. Writes FILE
as _dump_snapshot does, and a second file (with -native appended to the name) by PyTorch's writer in C++."""

import ctypes
import json
import pathlib
import sys

import torch

import cuda_memory
import cuda_stats


def training():
    """Marks parts of the step with names of the profiler and of the history."""
    net = torch.nn.Sequential(torch.nn.Linear(300, 700), torch.nn.ReLU(), torch.nn.Linear(700, 300)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for step in range(3):
        if hasattr(torch.cuda.memory, "_set_memory_metadata"):
            torch.cuda.memory._set_memory_metadata(f"step {step}")
        with torch.profiler.record_function("one step"):
            x = torch.randn(64, 300, device="cuda")
            net(x).square().mean().backward()
            optimizer.step()
            optimizer.zero_grad()
    if hasattr(torch.cuda.memory, "_annotate_tensor"):
        torch.cuda.memory._annotate_tensor(x, "the last input")


CASES = {"training": training, **cuda_memory.CASES}


def pickled_in_cpp():
    """torch::cuda::_memory_snapshot_pickled(), which returns a std::string."""
    library = ctypes.CDLL(str(pathlib.Path(torch.__file__).parent / "lib/libtorch_cuda.so"))
    function = library["_ZN5torch4cuda24_memory_snapshot_pickledB5cxx11Ev"]
    function.restype, function.argtypes = None, [ctypes.c_void_p]
    string = (ctypes.c_uint64 * 4)()
    function(string)
    return ctypes.string_at(string[0], string[1])


def main():
    file, how, names = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:]
    when = how.pop("when", "all")
    cuda_stats.begin()
    held = torch.empty(1_000_003, dtype=torch.uint8, device="cuda")
    if when == "all":
        del held
        torch.cuda.empty_cache()
    if when != "late":
        torch.cuda.memory._record_memory_history(**how)
    kept = [torch.empty(5_000_001, dtype=torch.uint8, device="cuda")]
    for place, name in enumerate(names or CASES):
        if when == "late" and place == 1:
            torch.cuda.memory._record_memory_history(**how)
        CASES[name]()
        print(name, flush=True)
    torch.cuda.synchronize()
    if when == "stopped":
        # The history keeps its entries: recordHistory(false) does not remove them.
        torch.cuda.memory._record_memory_history(enabled=None)
        kept = [torch.empty(7_000_001, dtype=torch.uint8, device="cuda")]
    torch.cuda.memory._dump_snapshot(str(file))
    file.with_name(file.name + "-native").write_bytes(pickled_in_cpp())
    del kept
    cuda_stats.end()


main()
