"""Memory that no operator makes (cases/storages.py): its bytes, and the line that made it, on the CPU and on a simulated GPU."""

import pytest

import harness
from test_cuda import has_cuda

MIB = 1 << 20
SIMULATED = pytest.param("cuda", marks=pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA"))


@pytest.mark.parametrize("device", ["cpu", SIMULATED])
def test_a_storage_has_its_bytes_and_its_line(device, target):
    options = ["--gpu", "H100"] if device == "cuda" else []
    run = harness.record([harness.PYTHON, harness.CASES / "storages.py", device], target, options)
    assert run.code == 0, run.stderr
    report = harness.report(target, ["--device", "cuda:0" if device == "cuda" else "cpu"])
    assert harness.lost(report) == []
    made_by = {}
    for one in report["peak"]["allocations"]:
        for frame in one["stack"]:
            if frame["file"].endswith("storages.py"):
                made_by.setdefault(frame["function"], []).append((one["operator"], one["bytes"]))
                break
    assert made_by["a_storage"] == [("", 48 * MIB)]
    assert made_by["a_copy"] == [("", 4 * MIB)]
    assert sum(size for _, size in made_by["a_checkpoint"]) == 4 * MIB
    assert [size for _, size in made_by["in_a_thread.<locals>.<lambda>"]] == [5 * MIB]
    figures = {one["device"]: one for one in report["processes"][0]["devices"]}[report["peak"]["device"]]
    assert figures["allocations"] >= 100 + 5
    assert figures["allocations"] - figures["frees"] <= 12
