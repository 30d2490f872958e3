"""Nets of torchvision, transformers and timm: one recorded step of each, compared with PyTorch's own counts."""

import importlib.util
import json

import pytest

import harness

NETS_PY = harness.CASES / "nets.py"
MEMORY_PY = harness.CASES / "oracle_memory.py"


def names():
    spec = importlib.util.spec_from_file_location("nets", NETS_PY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.NETS)


@pytest.fixture(scope="module")
def hooked(tmp_path_factory):
    """Counts of saved_tensors_hooks in one forward of each net, run bare."""
    out = tmp_path_factory.mktemp("oracle") / "saves.json"
    harness.bare([harness.PYTHON, NETS_PY, "--saves", out], check=True, timeout=600)
    return json.loads(out.read_text())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", names())
def test_one_step_is_counted_to_the_byte(name, hooked, target, tmp_path):
    out = tmp_path / "memory.json"
    harness.bare([harness.PYTHON, MEMORY_PY, out, NETS_PY, name], check=True)
    profiled = {region["name"]: region for region in json.loads(out.read_text())}
    assert set(profiled) == {"region program", "region step"}

    _, report = harness.record_and_report([harness.PYTHON, MEMORY_PY, "-", NETS_PY, name], target,
                                          env={"REGION_ONLY": "1"})
    assert harness.lost(report) == []
    assert report["recording"]["complete"]
    saves = report["saves"]
    assert {k: saves[k] for k in ("count", "logical_bytes", "unattributed")} == {**hooked[name], "unattributed": 0}

    recorded = {r["name"]: r for r in report["ranges"] if r["name"] in profiled}
    for region, expected in profiled.items():
        found = recorded[region]
        assert {"name": region, "rise": found["peak_bytes"] - found["begin_live_bytes"],
                "allocations": found["allocations"], "allocated_bytes": found["allocated_bytes"]} == expected

    assert harness.unexplained(report) == []
