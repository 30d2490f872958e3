"""Imports memory snapshots that PyTorch's own allocator and writers make on a simulated GPU. The recordings must equal PyTorch's
counts, its history, and Tapelens's recording of the same run."""

import json
import os
import pickle
import struct

import pytest

import harness
import tables
from cuda_counts import FIGURES, SETTINGS, environment, events_of, first_difference, named, of_gpus
from test_cuda import has_cuda

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")

COUNTED = [setting for setting in SETTINGS if setting != "async"]
# Arguments of PyTorch's _record_memory_history().
WAYS = {
    "python": {"stacks": "python"},
    "all": {"stacks": "all"},
    "no context": {"context": None},
    "allocations": {"context": "alloc"},
    "state": {"enabled": "state"},  # a ring of one entry
    "ring": {"stacks": "python", "max_entries": 400},
    "late": {"stacks": "python", "when": "late"},
    "older": {"stacks": "python", "when": "older"},
    "stopped": {"stacks": "python", "when": "stopped"},
}


def snapshot(file, how, setting="default", gpu="H100:2GiBx2", cases=(), record=None):
    """Runs the program and returns PyTorch's counts. `record`: also records it with Tapelens."""
    stats = file.with_suffix(".json")
    program = [harness.PYTHON, harness.CASES / "cuda_snapshot.py", file, json.dumps(how), *cases]
    options = ["--gpu", gpu]
    env = environment(setting, stats, file.parent / "caches", 0.5)
    if record:
        run = harness.record(program, record, options, env=env, timeout=600)
    else:
        run = harness.bare([harness.BINARY, "run", *options, "--", *program], env=env, timeout=600)
    assert run.code == 0, run.stderr
    return json.loads(stats.read_text(encoding="utf-8"))


def imported(file, *options):
    target = file.with_name(file.name + ".tapelens")
    run = harness.bare([harness.BINARY, "import", file, "-o", target, *options])
    assert run.code == 0, run.stderr
    return target


def curve(snapshot, device):
    """(peak of requested bytes, peak of reserved bytes) of a device, from the snapshot alone: backwards from its last state."""
    segments = [segment for segment in snapshot["segments"] if segment["device"] == device]
    blocks = [block for segment in segments for block in segment["blocks"] if block["state"] != "inactive"]
    live, reserved = sum(block["requested_size"] for block in blocks), sum(segment["total_size"] for segment in segments)
    most, most_reserved = live, reserved
    signs = {"alloc": (-1, 0), "free_completed": (1, 0), "segment_alloc": (0, -1), "segment_map": (0, -1), "segment_free": (0, 1),
             "segment_unmap": (0, 1)}
    for entry in reversed(snapshot["device_traces"][device]):
        sign = signs.get(entry["action"], (0, 0))
        live, reserved = live + sign[0] * entry["size"], reserved + sign[1] * entry["size"]
        most, most_reserved = max(most, live), max(most_reserved, reserved)
    return most, most_reserved


def history(snapshot, device):
    known = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap"}
    return [(e["action"], e["addr"], e["size"], e["stream"]) for e in snapshot["device_traces"][device] if e["action"] in known]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("setting", COUNTED)
def test_what_is_imported_is_what_pytorch_counted_and_what_is_recorded(setting, target, tmp_path):
    file = tmp_path / "snapshot.pickle"
    counted = snapshot(file, WAYS["python"], setting, record=target)
    recorded, report = harness.report(target), harness.report(imported(file))
    assert harness.lost(report) == []
    found = of_gpus(report, 0)
    assert sorted(found) == [0, 1]
    for number, figures in found.items():
        # Each number equals PyTorch's count. The first GPU has two blocks from before the history.
        wanted = {figure: counted["devices"][number][name] for figure, name in FIGURES.items()}
        for figure in ("peak_bytes", "allocated_peak_bytes", "active_peak_bytes", "reserved_peak_bytes"):
            assert figures[figure] == wanted[figure], (number, figure)
            assert figures[figure] == of_gpus(recorded, counted["pid"])[number][figure]
    with file.open("rb") as opened:
        told = pickle.load(opened)
    for number in found:
        wanted = named(history(told, number))
        entries = events_of(tables.Recording(file.with_name(file.name + ".tapelens")), 0, f"cuda:{number}")
        assert len(wanted) > 30
        assert first_difference(entries, wanted) is None
    # The model of the allocator equals the import, block by block, so the derived sizes are right.
    allocator = harness.advise(file.with_name(file.name + ".tapelens"))["advice"]["allocator"]
    if setting == "collected":
        # The start of garbage collection depends on the memory fraction of the program, which a snapshot does not have.
        assert allocator["replay_differs"] == "another segment was reserved or given back"
    else:
        assert allocator["replay_differs"] is None and allocator["compared_events"] > 3000


@pytest.mark.sampled(6)
@pytest.mark.parametrize("way", WAYS)
def test_each_way_to_keep_a_history_has_the_peaks_that_follow_from_it(way, tmp_path):
    file = tmp_path / "snapshot.pickle"
    snapshot(file, WAYS[way], cases=["training", "recorded_streams", "several_gpus", "captured_graphs", "full_gpu"])
    with file.open("rb") as opened:
        told = pickle.load(opened)
    report = harness.report(imported(file))
    for number, figures in of_gpus(report, 0).items():
        assert (figures["peak_bytes"], figures["reserved_peak_bytes"]) == curve(told, number), number
    dropped = harness.lost(report)
    assert [loss["kind"] for loss in dropped] == (["dropped_history"] if way in ("ring", "state") else [])
    known = report["recording"]["imported"]
    assert known["from"] == "a memory snapshot of PyTorch"
    assert (known["older_allocations"] > 0) == (way in ("ring", "late", "older", "state"))
    assert known["history"] == (way != "stopped")
    ooms = sum(entry["action"] == "oom" for trace in told["device_traces"] for entry in trace)
    assert len(report["processes"][0]["out_of_memory"]) == ooms
    stacks = [allocation["stack"] for allocation in report["peak"]["allocations"]]
    files = {frame["file"].rsplit("/", 1)[-1] for stack in stacks for frame in stack}
    if way in ("python", "all", "allocations"):
        assert "cuda_memory.py" in files
        assert not any(".so" in name for name in files), "PyTorch's own frames are left out"
    if way == "no context":
        assert files == set()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("setting", [setting for setting in COUNTED if setting != "collected"])
@pytest.mark.parametrize("way", ["late", "older", "ring", "stopped"])
def test_a_history_that_begins_late_is_replayed(way, setting, tmp_path):
    """Replays from the state before the history, up to the last event with a known order."""
    file = tmp_path / "snapshot.pickle"
    snapshot(file, WAYS[way], setting, cases=["training", "recorded_streams", "several_gpus", "captured_graphs", "full_gpu"])
    target = imported(file)
    for number in of_gpus(harness.report(target), 0):
        device = f"cuda:{number}"
        allocator = harness.advise(target, ["--device", device])["advice"]["allocator"]
        assert allocator["replay_differs"] is None, device
        assert allocator["tried"], device


def test_both_writers_and_all_protocols_say_the_same(tmp_path):
    file = tmp_path / "snapshot.pickle"
    snapshot(file, {"stacks": "all"}, cases=["training", "several_gpus"])
    with file.open("rb") as opened:
        told = pickle.load(opened)
    whole = tables.Recording(imported(file))
    for protocol in range(2, 6):
        again = tmp_path / f"protocol{protocol}"
        again.write_bytes(pickle.dumps(told, protocol=protocol))
        assert imported(again).read_bytes() == imported(file).read_bytes()
    native = file.with_name(file.name + "-native")
    with native.open("rb") as opened:
        assert len(pickle.load(opened)["device_traces"][0]) == len(told["device_traces"][0]) + 1  # the first snapshot is in it
    other = tables.Recording(imported(native))
    for gpu in ("cuda:0", "cuda:1"):
        assert first_difference(events_of(other, 0, gpu), events_of(whole, 0, gpu)) is None
    reports = [harness.report(imported(path), ["--by", "source"]) for path in (file, native)]
    assert reports[0]["peak"]["groups"] == reports[1]["peak"]["groups"]


def test_ranges_lines_and_what_is_not_known_are_said(tmp_path):
    file = tmp_path / "snapshot.pickle"
    snapshot(file, WAYS["python"], cases=["training"])
    target = imported(file)
    report = harness.report(target, ["--by", "source"])
    # The file has a summary, as recordings do.
    ranks = json.loads(harness.bare([harness.BINARY, "ranks", target, "--format", "json"], check=True).stdout)
    assert [rank["peak_bytes"] for rank in ranks["ranks"]] == [report["peak"]["bytes"]]
    assert not any("no summary" in remark for remark in ranks["remarks"])
    names = [entry["name"] for entry in report["ranges"]]
    assert names.count("one step") == 3
    if report["recording"]["imported"]["annotations_left_out"]:
        assert {"step 0", "step 1", "step 2"} <= set(names)
    # Python frames show the optimizer's step and calls of modules, but no operators and nodes.
    assert {category["name"] for category in report["peak"]["by_category"]} <= {"unknown", "parameter", "optimizer_state", "saved"}
    for allocation in report["peak"]["allocations"]:
        evidence = allocation.get("imported", {}).get("evidence", "")
        assert allocation["operator"] == "" and (allocation["category"] == "unknown") == (evidence == "")
    text = harness.bare([harness.BINARY, "report", target, "--verbose"]).stdout
    assert "Imported from a memory snapshot of PyTorch" in text and "the holders of memory are known only if" in " ".join(text.split())
    for shown in ("markdown", "html"):
        said = harness.bare([harness.BINARY, "report", target, "--format", shown])
        assert said.code == 0 and "Imported from a memory snapshot of PyTorch" in said.stdout
    advice = harness.advise(target)
    assert advice["findings"] == [] and advice["advice"]["checks"] == ["late-gradient"]


def test_other_commands_say_that_it_is_a_snapshot(tmp_path):
    file = tmp_path / "snapshot.pickle"
    snapshot(file, WAYS["python"], cases=["several_gpus"])
    for command in (["report", file], ["advise", file], ["diff", file, file], ["check", file, "--budget", "peak<=1GiB"]):
        run = harness.bare([harness.BINARY, *command])
        line, = run.stderr.splitlines()
        assert run.code == 3 and "is a memory snapshot of PyTorch" in line and "tapelens import" in line, (command, run.stderr)


class Calls:
    def __reduce__(self):
        return os.mkdir, ("called",)


def test_a_pickle_that_calls_is_refused_and_calls_nothing(tmp_path):
    hostile = {
        "reduce": pickle.dumps({"segments": [], "device_traces": [[Calls()]]}),
        "cut": pickle.dumps({"segments": [], "device_traces": [[{"action": "alloc"}]]})[:-9],
        "length": b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"segments.",
        "deep": b"\x80\x04" + b"(" * 3_000_000 + b".",
        "something else": pickle.dumps({"segment": 1}),
        "protocol 0": pickle.dumps({"segments": [], "device_traces": []}, protocol=0),
    }
    for name, content in hostile.items():
        file = tmp_path / name
        file.write_bytes(content)
        run = harness.bare([harness.BINARY, "import", file, "-o", tmp_path / "out.tapelens"], cwd=tmp_path)
        line, = run.stderr.splitlines()
        assert run.code == 3 and ": offset " in line, (name, run.stderr)
    assert "import or call" in harness.bare([harness.BINARY, "import", tmp_path / "reduce", "-o", tmp_path / "o"]).stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(hostile)
