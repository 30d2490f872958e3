#!/usr/bin/env python3
"""Imports memory snapshots of real GPUs with `tapelens import` and compares the recordings with the snapshots.

    python bench/captures.py build/release/bin/tapelens FOLDER      files of torch.cuda.memory._dump_snapshot(), .pickle or .pickle.xz

Prints for each device of each file:
- whether the peaks of requested and reserved bytes equal those that follow from the snapshot alone, backwards from its last state;
- how many events the model of the allocator replays, and the first difference;
- for how many allocations at the peak the operator, the phase, the node and the category are known.
Exit code 1 if a file is refused or a peak differs. A replay that differs is not a failure: a snapshot may be of any program.
"""

import argparse
import json
import lzma
import pathlib
import pickle
import subprocess
import sys
import tempfile

MORE = {"alloc": (-1, 0), "free_completed": (1, 0), "segment_alloc": (0, -1), "segment_map": (0, -1), "segment_free": (0, 1),
        "segment_unmap": (0, 1)}


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a snapshot has no {module}.{name}")


def peaks(snapshot, device):
    """The peaks of (requested, reserved) bytes."""
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    blocks = [block for segment in segments for block in segment["blocks"] if block["state"] != "inactive"]
    live, reserved = sum(block.get("requested_size", block["size"]) for block in blocks), sum(s["total_size"] for s in segments)
    most, most_reserved = live, reserved
    traces = snapshot.get("device_traces") or []
    for entry in reversed(traces[device] if device < len(traces) else []):
        sign = MORE.get(entry["action"], (0, 0))
        live, reserved = live + sign[0] * entry["size"], reserved + sign[1] * entry["size"]
        most, most_reserved = max(most, live), max(most_reserved, reserved)
    return most, most_reserved


def asked(binary, *words):
    done = subprocess.run([binary, *words, "--format", "json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return json.loads(done.stdout)


def known(report):
    """Counts the allocations at the peak, and those with a known operator, phase, node and category."""
    counts = dict.fromkeys(("all", "operator", "phase", "node", "category"), 0)
    for allocation in report["peak"]["allocations"]:
        imported = allocation.get("imported") or {}
        counts["all"] += 1
        counts["operator"] += bool(allocation["operator"])
        counts["phase"] += bool(imported.get("phase"))
        counts["node"] += bool(imported.get("node"))
        counts["category"] += allocation["category"] != "unknown"
    return counts


def known_text(counts):
    named = [f"{counts.get(key, 0):,} {key}" for key in ("operator", "phase", "node", "category")]
    return f"of {counts.get('all', 0):,} allocations at the peak: {', '.join(named)}"


def compare(binary, file, folder):
    """Rows of (device, text of errors, replayed events, reason why the replay stopped, known(), titles of findings)."""
    path = pathlib.Path(folder) / file.name.removesuffix(".xz")
    path.write_bytes(lzma.decompress(file.read_bytes()) if file.suffix == ".xz" else file.read_bytes())
    with path.open("rb") as opened:
        snapshot = Plain(opened).load()
    target = path.with_suffix(".tapelens")
    done = subprocess.run([binary, "import", path, "-o", target, "--force"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return [("", done.stderr.strip(), 0, "", {}, [])]
    rows = []
    devices = {segment["device"] for segment in snapshot["segments"]} | {i for i, t in enumerate(snapshot.get("device_traces") or []) if t}
    for device in sorted(devices):
        requested, reserved = peaks(snapshot, device)
        if requested == 0:
            continue
        advised = asked(binary, "advise", target, "--device", f"cuda:{device}")
        advice = advised["advice"]
        allocator = advice["allocator"]
        found = advice["peak_before_bytes"], allocator["reserved_peak_before_bytes"]
        wrong = "" if found == (requested, reserved) else f"peaks {found}, the file says {(requested, reserved)}"
        facts = known(asked(binary, "report", target, "--device", f"cuda:{device}"))
        rows.append((f"cuda:{device}", wrong, allocator["compared_events"], allocator["replay_differs"] or "", facts,
                     [finding["title"] for finding in advised["findings"]]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    files = sorted(file for file in options.folder.iterdir() if file.name.endswith((".pickle", ".pickle.xz")))
    if not files:
        sys.exit(f"{options.folder} has no .pickle or .pickle.xz")
    devices = replayed = failed = 0
    totals = {}
    for file in files:
        with tempfile.TemporaryDirectory() as folder:
            rows = compare(options.binary, file, folder)
        for device, wrong, events, differs, facts, found in rows:
            for key, count in facts.items():
                totals[key] = totals.get(key, 0) + count
            devices, replayed, failed = devices + bool(device), replayed + bool(device and not differs), failed + bool(wrong)
            print(f"{file.name:<28} {device:<8} {wrong or 'peaks ok'}; {events:,} events replayed" + (f", then: {differs}" if differs else ""))
            if facts:
                print(f"{'':<38}{known_text(facts)}" + "".join(f"; found: {title}" for title in found))
    print(f"{len(files)} files, {devices} devices: {replayed} replayed whole, {failed} refused or with another peak")
    print(f"all of them: {known_text(totals)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
