"""The parts of on_gpu.sh that read recordings or run programs of on_gpu_programs.py. Each prints a Markdown table, writes its
figures to --json, and ends with 1 if something is wrong:

    beside        a simulated GPU on a machine with a driver: the process uses no file of the driver, a recording has PyTorch's counts
    context       CUDA's context by NVML, from the import of torch to the first kernels of its libraries
    communicator  a communicator of NCCL of one rank, by NVML
    order         the order in which PyTorch reuses cached blocks of one size, and its replay
    workspaces    cuDNN's workspaces for fifty convolutions in three dtypes, from PyTorch's history
    attention     bytes saved by each implementation of attention, real and simulated
    counts        recordings against PyTorch's counts and its own history, and the replay of the allocator against both
    snapshots     PyTorch's own snapshots of programs, imported and replayed
    cupti         `record --cupti`: the sum of PyTorch's reserved bytes, CUPTI's bytes and CUDA's context, against NVML
    peaks         PyTorch's counts of unrecorded programs on the real GPU and on a simulated one of the same kind
    fit           a GPT with `run --apply` and `run --fit`: peaks, time of a step, parameters by the bit

--simulate-gpu runs the parts on a simulated GPU, which tests only this script.
Needs Python and PyTorch; some programs need torchvision, timm or transformers. Programs whose packages are missing are skipped and named."""

import argparse
import gzip
import json
import os
import pathlib
import pickle
import shutil
import sys
import tempfile
import time

import on_gpu_measures
from on_gpu_base import CASES, PROGRAMS, ROOT, Failed, Table, at_once, bare, lines, missing, no_time, on_simulated, read, record, run

import cuda_counts  # noqa: E402  of tests/programs
import tables  # noqa: E402

# The program after CASES, its packages, and the share of a GPU of 80 GB or more that it may use (for garbage collection).
RECORDED = {
    "samples": (["cuda_samples.py", ROOT / "samples"], (), 0.002),
    "memory": (["cuda_memory.py"], (), 0.01),
    "examples": (["cuda_examples.py"], ("torchvision", "transformers"), 0.04),
    "models": (["cuda_models.py"], ("torchvision", "timm", "transformers"), 0.01),
    "compiled": (["cuda_compiled.py"], ("triton",), 0.002),
    "sequence": (["cuda_sequence.py"], (), 0.02),
}
COMPARED = {
    "samples": (["cuda_samples.py", ROOT / "samples"], ()),
    "streams, pools, graphs": (["cuda_memory.py"], ()),
    "an MLP, AdamW": (["cuda_examples.py", "mlp"], ()),
    "GPT-2, small": (["cuda_examples.py", "gpt2_autocast"], ("transformers",)),
    "a vision transformer in three precisions": (["cuda_examples.py", "vit_precisions"], ("torchvision",)),
    "a checkpointed encoder": (["cuda_examples.py", "checkpointed"], ()),
    "four of torchvision": (["cuda_models.py", "resnet18", "densenet121", "mobilenet_v3", "efficientnet"], ("torchvision",)),
    "four of transformers": (["cuda_models.py", "gpt2", "llama", "bert", "t5"], ("transformers",)),
    "ResNet-50, fine-tuned": (["cuda_run.py", ROOT / "samples/cuda/finetune_resnet.py"], ("torchvision",)),
    "GPT-2 medium": (["cuda_run.py", ROOT / "samples/cuda/gpt.py"], ()),
}


POOLS = ("streams, pools, graphs",)  # programs with private pools
QUICK = {"RECORDED": ("memory", "sequence"), "COMPARED": ("an MLP, AdamW",), "SETTINGS": ("default",)}
# Uses the whole memory of the GPU, so it runs alone.
ALONE = ("sequence",)


def chosen(args, what):
    everything = {"RECORDED": RECORDED, "COMPARED": COMPARED, "SETTINGS": cuda_counts.SETTINGS}[what]
    return {name: everything[name] for name in (QUICK[what] if args.quick else everything)}


def counts(args):
    asked = [(setting, name) for setting in chosen(args, "SETTINGS") if setting != "async"  # PyTorch counts little of cudaMallocAsync
             for name in chosen(args, "RECORDED") if name not in ALONE or setting in ("default", "expandable")]
    table = Table(args, "program", "setting", "PyTorch's counts in the recording", "replay of the allocator")
    work = lambda item, folder: counted(args, folder, *item)
    together = [item for item in asked if item[1] not in ALONE]
    for items in ([item for item in asked if item[1] in ALONE], together):
        for setting, name, said, replay, fine in at_once(args if items is together else argparse.Namespace(jobs=1), work, items):
            table.row(name, setting, said, replay, fine=fine, program=name, setting=setting, counts=said, replay=replay)
    return table.wrong


def counted(args, folder, setting, name):
    """One row of `counts`."""
    program, packages, fraction = RECORDED[name]
    left_out = missing(packages) or no_time(args)
    if left_out:
        return setting, name, left_out, "", True
    try:
        said, fine, found = recorded(args, folder, name, program, setting, fraction)
        replay, replays = replayed(args, folder / "run.tapelens", found["devices"])
    except Failed as failed:
        return setting, name, failed.args[0], "", False
    if args.keep and not (fine and replays):
        shutil.copy(folder / "run.tapelens", args.keep / f"{setting}-{name}.tapelens")
    return setting, name, said, replay, fine and replays


def recorded(args, folder, name, program, setting, fraction):
    """The text for one program under one setting, whether it passed, and PyTorch's counts."""
    out, target = folder / "counts.json", folder / "run.tapelens"
    run(args, [*record(args), "-o", target, "--", sys.executable, CASES / program[0], *program[1:]],
        cuda_counts.environment(setting, out, args.caches, fraction))
    found = json.loads(out.read_text(encoding="utf-8"))
    if name == "sequence":
        wanted = cuda_counts.named(found["traces"][0])
        difference = cuda_counts.first_difference(cuda_counts.events_of(tables.Recording(target), found["pid"], "cuda:0"), wanted)
        return difference or f"the same {len(wanted)} events", difference is None, found
    said, fine = same_counts(found, read(args, "report", target))
    return said, fine, found


def same_counts(counted, report):
    wanted, found = cuda_counts.compared(counted, report)
    if found == wanted:
        return "equal: " + ", ".join(f"{figure} {value}" for figure, value in wanted[0].items()), True
    return "DIFFERENT: " + "; ".join(f"cuda:{gpu} {figure}: PyTorch {value}, recording {found.get(gpu, {}).get(figure)}"
                                     for gpu, figures in wanted.items() for figure, value in figures.items()
                                     if found.get(gpu, {}).get(figure) != value), False


def replayed(args, target, devices):
    """The text for the replay, which needs each block and segment of the real allocator, and the peak of reserved bytes."""
    events = 0
    for number, counts_of in enumerate(devices):
        if not counts_of["allocation.all.allocated"]:
            continue
        found = read(args, "advise", target, "--device", f"cuda:{number}")["advice"]["allocator"]
        if found is None:
            return f"cuda:{number}: NO REPLAY", False
        if found["replay_differs"] is not None:
            return f"cuda:{number} DIFFERENT: {found['replay_differs']}", False
        if found["reserved_peak_before_bytes"] != counts_of["reserved_bytes.all.peak"]:
            return f"cuda:{number} DIFFERENT: reserved {found['reserved_peak_before_bytes']}", False
        events += found["compared_events"]
    return f"the same {events} events", True


def beside(args):
    """The real GPU, and on the same machine a simulated one of another kind and memory."""
    table = Table(args, "program", "GPU", "bytes", "files of the driver", "devices", "")
    try:
        real = None
        if not args.simulate_gpu:
            real, = lines(bare(args), "where")
            show_where(table, "bare", real, bool(real["devices"]), "")
        found, = lines(on_simulated(args, "L4:7GiB"), "where")
        wrong = [what for what, is_wrong in {
            "another GPU": (found["name"], found["bytes"]) != ("NVIDIA L4", 7 << 30), "a device is open": found["devices"],
            "the real driver is loaded": real and set(map(os.path.realpath, found["driver"])) & set(map(os.path.realpath, real["driver"]))}.items()
            if is_wrong]
        show_where(table, "--gpu L4:7GiB", found, not wrong, ", ".join(wrong))
        with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
            simulated = argparse.Namespace(**{**vars(args), "simulate_gpu": "H100:24GiB"})
            said, fine, _ = recorded(simulated, pathlib.Path(folder), "memory", RECORDED["memory"][0], "default", 1)
            table.row("record --gpu H100:24GiB", "", "", "", "", said, fine=fine, counts=said)
    except (Failed, ValueError) as failed:
        table.row(failed, "", "", "", "", "", fine=False)
    return table.wrong


def show_where(table, how, found, fine, wrong):
    table.row(how, found["name"], found["bytes"], ", ".join(pathlib.Path(path).name for path in found["driver"]), ", ".join(found["devices"]), wrong or "as it should be", fine=fine,
              how=how, **found)


def order(args):
    """tests/programs/cases/cuda_order.py: PyTorch before 2.12 reuses the cached block of the lowest address, later versions that of
    the oldest segment."""
    import torch
    wanted = "address" if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12) else "age"
    table = Table(args, "program", "found", "wanted")
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
        out, target = (pathlib.Path(folder) / name for name in ("counts.json", "run.tapelens"))
        try:
            found = run(args, [*bare(args), CASES / "cuda_order.py"]).split()[0]
            table.row("three blocks of one size", found, wanted, fine=found == wanted, order=found, wanted=wanted)
            run(args, [*record(args), "-o", target, "--", sys.executable, CASES / "cuda_order.py", "many"], {"CUDA_STATS": str(out)})
            replay, fine = replayed(args, target, json.loads(out.read_text(encoding="utf-8"))["devices"])
            table.row("600 blocks of four sizes, replayed", replay, "the same", fine=fine, replay=replay)
        except Failed as failed:
            table.row(failed, "", "", fine=False)
    return table.wrong


def snapshots(args):
    """Keeps each program's file of `torch.cuda.memory._dump_snapshot()` unchanged, so that it can be replayed elsewhere."""
    table = Table(args, "program", "KiB, compressed", "imported and replayed")
    for name, size, said, fine in at_once(args, lambda item, folder: snapshot(args, folder, *item), list(chosen(args, "COMPARED").items())):
        table.row(name, size >> 10, said, fine=fine, program=name, bytes=size, replay=said)
    return table.wrong


def snapshot(args, folder, name, program):
    arguments, packages = program
    left_out = missing(packages) or no_time(args)
    if left_out:
        return name, 0, left_out, True
    file, target = folder / "snapshot.pickle", folder / "run.tapelens"
    size = 0
    try:
        run(args, [*bare(args), PROGRAMS, "snapshot", file, CASES / arguments[0], *arguments[1:]],
            cuda_counts.environment("default", folder / "counts.json", args.caches, 1))
        content = gzip.compress(file.read_bytes())
        size = len(content)
        if args.keep:
            kept = "".join(letter if letter.isalnum() else "_" for letter in name)
            (args.keep / f"{kept}.pickle.gz").write_bytes(content)
        run(args, [args.binary, "import", file, "-o", target])
        said, fine = replayed(args, target, json.loads((folder / "counts.json").read_text(encoding="utf-8"))["devices"])
        if not fine and name in POOLS and not names_pools(file):
            return name, size, f"{said}; this PyTorch's history does not name private pools", True
    except Failed as failed:
        return name, size, failed.args[0], False
    return name, size, said, fine


def names_pools(file):
    """Whether the entries of a snapshot's history have the pool of a block. PyTorch 2.11 does not write it."""
    with file.open("rb") as opened:
        return any("pool_id" in entry for trace in pickle.load(opened)["device_traces"] for entry in trace)


def cupti(args):
    """NVML's figure is that of the whole device. CUDA's context and other processes are in neither PyTorch's nor CUPTI's bytes: the
    program measures them before it begins. The sum must be within 1 % of NVML's figure."""
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
        out, target = (pathlib.Path(folder) / name for name in ("counts.json", "run.tapelens"))
        try:
            run(args, [*record(args), "--cupti", "-o", target, "--", sys.executable, CASES / "cuda_half.py"],
                cuda_counts.environment("default", out, args.caches, 1))
            outside = read(args, "report", target, "--device", "cuda:0")["peak"]["outside"]
        except Failed as failed:
            print(failed)
            return 1
        counted_bytes = json.loads(out.read_text(encoding="utf-8"))
    if outside is None or outside["device_use"] is None:
        print("DIFFERENT: the recording has nothing of CUPTI or NVML")
        return 1
    use = outside["device_use"]
    told = use["reserved_bytes"] + use["outside_bytes"]
    rows = {"in use, by NVML, beside what the program asked of the driver": (use["used_bytes"], counted_bytes["used"]),
            "PyTorch's and CUPTI's, with what was in use before, beside NVML's": (told + counted_bytes["before"], use["used_bytes"])}
    table = Table(args, "bytes", "found", "wanted", "difference")
    for name, (found, wanted) in rows.items():
        table.row(name, found, wanted, f"{found / wanted - 1:+.3%}", fine=abs(found - wanted) <= wanted / 100, what=name, found=found, wanted=wanted)
    print(f"\nCUPTI told of {use['outside_bytes']} bytes outside of PyTorch, in use before were {counted_bytes['before']}.")
    return table.wrong


def peaks(args):
    simulated = args.simulate_gpu or args.gpu
    print(f"Simulated: {simulated}. Bytes; the difference is that of the simulated GPU.\n")
    table = Table(args, "program", *[f"{kind}, {where}" if where else "" for kind in ("requested", "allocated", "reserved")
                                     for where in ("real", "simulated", "")])
    for name, said, cells in at_once(args, lambda item, folder: peaks_of(args, folder, simulated, *item), list(chosen(args, "COMPARED").items())):
        row = [said] if cells is None else []
        for kind in ("requested", "allocated", "reserved") if cells else ():
            real, other = (cells[where][f"{kind}_bytes.all.peak"] for where in ("real", "simulated"))
            row += [real, other, f"{other / real - 1:+.2%}" if other != real else "="]
        table.row(name, *row, fine=cells is not None or said.startswith("left out"), program=name, said=said, counts=cells)
    return table.wrong


def peaks_of(args, folder, simulated, name, program):
    """(name, text, PyTorch's counts by the place of the run)."""
    arguments, packages = program
    left_out = missing(packages) or no_time(args)
    if left_out:
        return name, left_out, None
    cells = {}
    for where, prefix in {"real": bare(args), "simulated": on_simulated(args, simulated)}.items():
        out = folder / f"{where}.json"
        try:
            run(args, [*prefix, CASES / arguments[0], *arguments[1:]], cuda_counts.environment("default", out, args.caches, 1))
        except Failed as failed:
            return name, f"{where}: {failed}", None
        cells[where] = json.loads(out.read_text(encoding="utf-8"))["devices"][0]
    return name, "", cells


PARTS = {part.__name__: part for part in (
    beside, on_gpu_measures.context, on_gpu_measures.communicator, order, on_gpu_measures.workspaces, on_gpu_measures.attention,
    on_gpu_measures.fit, counts, snapshots, cupti, peaks)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=list(PARTS))
    parser.add_argument("--binary", default=ROOT / "build/release/bin/tapelens")
    parser.add_argument("--gpu", default="H200", help="of `tapelens fit --list-gpus`: the kind that is here")
    parser.add_argument("--simulate-gpu", metavar="GPU", help="run on a simulated one")
    parser.add_argument("--seconds", type=float, default=300, help="after so many no other program is begun")
    parser.add_argument("--jobs", type=int, default=min(4, max(1, (os.cpu_count() or 1) // 2)), help="programs at once")
    parser.add_argument("--quick", action="store_true", help="one small program")
    parser.add_argument("--json", help="the figures as a file")
    parser.add_argument("--keep", type=pathlib.Path, help="an existing folder for snapshots, and for recordings that differ")
    args = parser.parse_args()
    args.deadline = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory(prefix="tapelens-caches-") as args.caches:
        sys.exit(1 if PARTS[args.part](args) else 0)


if __name__ == "__main__":
    main()
