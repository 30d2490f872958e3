"""Pinned host memory in a recording equals the count of PyTorch's allocator: torch.cuda.host_memory_stats() on a
simulated GPU."""

import json

import pytest

import harness
import tables
from cuda_counts import environment
from test_cuda import has_cuda

MIB = 1 << 20

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def recorded(case, target, tmp_path):
    """PyTorch's counts, the report about pinned memory, and its numbers."""
    out = tmp_path / "stats.json"
    run = harness.record([harness.PYTHON, harness.CASES / "cuda_pinned.py", case], target, ["--gpu", "H100"],
                         env=environment("default", out, tmp_path, 1), timeout=120)
    assert run.code == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "done"
    report = harness.report(target, ["--device", "pinned"])
    assert harness.lost(report) == []
    figures = {device["device"]: device for device in report["processes"][0]["devices"]}
    return json.loads(out.read_text(encoding="utf-8")), report, figures


def test_what_is_pinned_is_counted_as_pytorch_does(target, tmp_path):
    counted, report, figures = recorded("mixed", target, tmp_path)
    host, pinned = counted["host"], figures["pinned"]
    assert pinned["allocations"] == host["active_requests.allocated"] == 7
    assert pinned["frees"] == host["active_requests.freed"] == 2  # a batch and a copy
    assert pinned["live_at_end_bytes"] == host["active_bytes.current"]

    recording = tables.Recording(target)
    device = recording.column("devices", "name").index(recording.strings().index("pinned")) + 1
    sizes = [size for of, size in recording.rows("allocations", ["device", "bytes"], counted["pid"]) if of == device]
    assert sum(sizes) == host["active_bytes.allocated"]
    # Pinned memory has an operator and a line, also in threads. It does not count as memory of other libraries.
    makers = {(one["operator"], one["stack"][0]["function"]) for one in report["peak"]["allocations"]}
    assert {("aten::empty", "by_a_function"), ("aten::pin_memory", "copied")} <= makers
    assert (1, 2 * MIB) not in recording.rows("allocations", ["origin", "bytes"], counted["pid"])


def test_the_peak_of_one_size_is_pytorchs(target, tmp_path):
    counted, _, figures = recorded("one_size", target, tmp_path)
    assert figures["pinned"]["peak_bytes"] == counted["host"]["active_bytes.peak"] > 8 * MIB
    assert figures["pinned"]["allocations"] == counted["host"]["active_requests.allocated"] == 100
    assert "cpu" not in figures  # no sum of the CPU contains it
