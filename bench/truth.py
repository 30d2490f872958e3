#!/usr/bin/env python3
"""Compares a program on the simulated GPU with a memory snapshot of the same program on a real GPU.

    python bench/truth.py snapshot.pickle --gpu H100 -- train.py --batch-size 8

The program is a Python script, with its arguments. It records the history and writes the snapshot itself, as it did on the real
GPU (torch.cuda.memory._record_memory_history, _dump_snapshot). --whole records the history of the whole run. Run this with
the Python and the version of PyTorch of the snapshot, because versions of PyTorch allocate differently.

Compares for each device: the order and sizes of the history's events (allocations, frees, segments), the peaks of requested and
reserved bytes, and the last segments with their blocks. Does not compare addresses.
Exit code 0: all is the same; 1: something differs, and the first difference is named; 2: the program, or an option, failed.
"""

import argparse
import lzma
import os
import pathlib
import pickle
import runpy
import subprocess
import sys
import tempfile

EVENTS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom"}
SIGNS = {"alloc": (1, 0), "free_completed": (-1, 0), "segment_alloc": (0, 1), "segment_map": (0, 1), "segment_free": (0, -1),
         "segment_unmap": (0, -1)}
INNER = "--run-inside"


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a snapshot has no {module}.{name}")


def read(path):
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rb") as file:
        snapshot = Plain(file).load()
    if not isinstance(snapshot, dict) or "segments" not in snapshot:
        raise pickle.UnpicklingError("not a memory snapshot of PyTorch")
    return snapshot


def traces(snapshot):
    return snapshot.get("device_traces") or []


def events(snapshot, device):
    """Rows of (action, bytes, number of the allocation or segment, entry); older ones than the history have number 0."""
    rows, numbers = [], {}
    entries = traces(snapshot)[device] if device < len(traces(snapshot)) else []
    for entry in entries:
        action = entry["action"]
        if action not in EVENTS:
            continue
        kind = action.startswith("segment"), entry.get("addr", 0)
        if action in ("alloc", "segment_alloc", "segment_map"):
            numbers[kind] = len(rows) + 1
        rows.append((action, entry["size"], 0 if action == "oom" else numbers.get(kind, 0), entry))
    return rows


def peaks(snapshot, device):
    """The peaks of (requested, reserved) bytes, backwards from the last state of the snapshot."""
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    blocks = [block for segment in segments for block in segment["blocks"] if block["state"] != "inactive"]
    live = [sum(block.get("requested_size", block["size"]) for block in blocks), sum(segment["total_size"] for segment in segments)]
    most = list(live)
    for action, size, _, _ in reversed(events(snapshot, device)):
        for i, sign in enumerate(SIGNS.get(action, (0, 0))):
            live[i] -= sign * size
            most[i] = max(most[i], live[i])
    return most


def segments(snapshot, device):
    """Each as (bytes, its blocks), sorted independently of addresses."""
    return sorted((segment["total_size"], tuple((block["size"], block["state"]) for block in segment["blocks"]))
                  for segment in snapshot["segments"] if segment["device"] == device)


def line(entry):
    """The innermost Python frame outside of installed packages, as text."""
    frames = [frame for frame in entry.get("frames") or [] if frame["filename"].endswith(".py")]
    own = [frame for frame in frames if "/site-packages/" not in frame["filename"].replace("\\", "/")] or frames
    return f" at {own[0]['filename']}:{own[0]['line']} {own[0]['name']}" if own else ""


def words(row):
    return f"{row[0]} of {row[1]:,} bytes{line(row[3])}" if row else "nothing"


def first_difference(real, simulated):
    """(index, real, simulated) of the first event that differs, or None."""
    for i in range(max(len(real), len(simulated))):
        one, other = real[i] if i < len(real) else None, simulated[i] if i < len(simulated) else None
        if one is None or other is None or one[:3] != other[:3]:
            return i, one, other
    return None


def compare(real, simulated):
    """Prints the comparison. Returns whether everything is equal."""
    devices = {segment["device"] for snapshot in (real, simulated) for segment in snapshot["segments"]}
    devices |= {i for snapshot in (real, simulated) for i, trace in enumerate(traces(snapshot)) if trace}
    same = True
    for device in sorted(devices):
        rows = events(real, device), events(simulated, device)
        difference = first_difference(*rows)
        print(f"cuda:{device}: events: {len(rows[0]):,} on the real GPU, {len(rows[1]):,} simulated"
              + (", all the same" if difference is None else ""))
        if difference is not None:
            place, one, other = difference
            print(f"  first difference: event {place}: real: {words(one)}; simulated: {words(other)}")
            if one and other and one[:2] == other[:2]:
                print("  it belongs to another allocation or segment")
        figures = zip(("requested", "reserved"), peaks(real, device), peaks(simulated, device), strict=True)
        for name, wanted, found in figures:
            print(f"  most {name} bytes: {wanted:,} real, {found:,} simulated" + ("" if wanted == found else f": {found - wanted:+,}"))
            same = same and wanted == found
        at_end = segments(real, device), segments(simulated, device)
        is_alike = at_end[0] == at_end[1]
        print(f"  segments at the end: {len(at_end[0]):,} real, {len(at_end[1]):,} simulated"
              + (", with the same blocks" if is_alike else ", which differ"))
        same = same and is_alike and difference is None
    if not devices:
        print("neither has memory of any device")
        return False
    return same


def run_inside(target, which, whole, program):
    """In the program's process: runs the program, and also writes its snapshot to `target`."""
    import torch

    memory, written = torch.cuda.memory, 0
    dump = memory._dump_snapshot

    def keep(*arguments, **named):
        nonlocal written
        written += 1
        if written == which and not whole:
            dump(target)
        return dump(*arguments, **named)

    memory._dump_snapshot = torch.cuda.memory._dump_snapshot = keep
    if whole:
        memory._record_memory_history()
    sys.argv = program
    sys.path[0] = str(pathlib.Path(program[0]).resolve().parent)
    runpy.run_path(program[0], run_name="__main__")
    if whole:
        dump(target)


def main():
    if sys.argv[1:2] == [INNER]:
        target, which, whole, *program = sys.argv[2:]
        run_inside(target, int(which), whole == "True", program)
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("snapshot", type=pathlib.Path, help="memory snapshot of the real GPU: .pickle or .pickle.xz")
    parser.add_argument("--gpu", required=True, help="the same GPU as `tapelens fit --list-gpus` names it: H100, A100-40GB, H100:24GiB")
    parser.add_argument("--tapelens", default=os.environ.get("TAPELENS_BINARY", "build/release/bin/tapelens"), help="the command")
    parser.add_argument("--which", type=int, default=1, help="compare the Kth snapshot that the program writes", metavar="K")
    parser.add_argument("--whole", action="store_true", help="the snapshot is of a whole run, and the program keeps no history by itself")
    parser.add_argument("program", nargs="+", help="behind --: a Python script and its arguments")
    options = parser.parse_args()
    try:
        real = read(options.snapshot)
    except (OSError, EOFError, lzma.LZMAError, pickle.UnpicklingError) as error:
        print(f"{options.snapshot}: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        target = pathlib.Path(folder) / "simulated.pickle"
        command = [options.tapelens, "run", "--gpu", options.gpu, "--", sys.executable, __file__, INNER, target,
                   str(options.which), str(options.whole), *options.program]
        done = subprocess.run(command, check=False)
        if done.returncode != 0:
            print(f"the program ended with exit code {done.returncode}", file=sys.stderr)
            return 2
        if not target.exists():
            print("the program wrote no such snapshot: --whole compares one of the whole run", file=sys.stderr)
            return 2
        simulated = read(target)
    return 0 if compare(real, simulated) else 1


if __name__ == "__main__":
    sys.exit(main())
