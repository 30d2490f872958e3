"""Holders of wrapped tensors (cases/wrapped.py): sharded, nested, packed, bucketed, kept by checkpointing or on ctx.
The oracle: the program's own sizes of its parameters' parts, and PyTorch's hooks on the parts of saves."""

import collections
import functools
import json

import pytest

import harness

PROGRAM = harness.CASES / "wrapped.py"
ENV = {"PYTHONPATH": str(harness.HERE / "modern")}
# Holders in the peak of each case, to distinguish from the program's own references.
HELD_BY = {
    "fsdp2": {"parameter", "gradient", "optimizer_state", "saved", "communication"},
    "tensor_parallel": {"parameter", "gradient", "optimizer_state", "saved"},
    "ddp": {"parameter", "gradient", "optimizer_state", "saved", "communication"},
    "ddp_views": {"parameter", "gradient", "optimizer_state", "saved"},
    "quantized": {"parameter", "saved"},
    "nested": {"parameter", "gradient", "optimizer_state", "saved"},
    "save_on_cpu": {"parameter", "gradient", "optimizer_state", "packed"},
    "offloaded": {"parameter", "gradient", "optimizer_state", "packed"},
    "selective": {"parameter", "gradient", "optimizer_state", "checkpointing"},
    "stashed": {"parameter", "gradient", "optimizer_state", "saved", "context"},
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    @functools.lru_cache
    def run(case):
        folder = tmp_path_factory.mktemp(case)
        target, truth = folder / "run.tapelens", folder / "truth"
        command = [harness.PYTHON, PROGRAM, case]
        harness.in_order(lambda: harness.record(command, target, env={**ENV, "TRUTH": str(truth)}))
        report = harness.report(target)
        assert harness.lost(report) == []
        assert report["recording"]["complete"]
        assert report["saves"]["unattributed"] == 0
        return report, json.loads(truth.with_suffix(".0").read_text(encoding="utf-8"))
    return run


def named(peak, kind):
    """Bytes by the name of their holders of that kind."""
    sums = collections.Counter()
    for allocation in peak["allocations"]:
        for holder in allocation["holders"]:
            if holder["kind"] == kind:
                sums[holder["name"].removeprefix("module.")] += allocation["bytes"]
    return sums


def holders(report, kind):
    return [h for a in report["peak"]["allocations"] for h in a["holders"] if h["kind"] == kind]


def fields(report, kind):
    return {f"{h['node']}.{h['field']}" for h in holders(report, kind)}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", HELD_BY)
def test_every_byte_has_a_holder_and_every_parameter_its_name(case, recorded):
    report, truth = recorded(case)
    truth = {name.removeprefix("module."): size for name, size in truth["bytes"].items()}
    peak = report["peak"]
    by_category = {row["name"]: row["bytes"] for row in peak["by_category"]}
    assert sum(by_category.values()) == peak["bytes"] == sum(a["bytes"] for a in peak["allocations"])
    assert by_category.get("program", 0) <= 0.03 * peak["bytes"], by_category
    assert set(by_category) >= HELD_BY[case], by_category
    parameters = named(peak, "parameter")
    for name, size in truth.items():
        assert parameters[name] >= size, (name, parameters)
    if case != "fsdp2":  # gathered tensors have the same names
        assert sum(parameters.values()) == sum(truth.values())
    if case == "ddp":
        assert {h["name"] for h in holders(report, "communication")} == {"DDP bucket"}
    if case == "ddp_views":  # its buckets hold the gradients
        assert holders(report, "communication") == []
        assert set(named(peak, "gradient")) >= set(truth)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", ["fsdp2", "tensor_parallel", "ddp"])
def test_sharded_parameters_have_their_mesh_and_placements(case, recorded):
    report, truth = recorded(case)
    spread = truth["spread"]
    (process,) = [one for one in report["processes"] if one["rank"] == 0]
    seen = {name: one for one in process["shardings"] for name in one["parameters"]}
    assert set(seen) == set(spread) and bool(seen) == (case != "ddp")
    for name, (shape, at, placements, here, whole) in spread.items():
        one = seen[name]
        sizes = [int(part.rpartition("=")[2]) for part in one["mesh"].replace(" x ", " ").split()]
        assert str(tuple(sizes)) == shape
        assert [int(part.rpartition("=")[2]) for part in one["coordinate"].replace(",", " ").split()] == at
        assert [part.partition("(")[0] for part in one["placements"].split("), ")] == placements
    for one in process["shardings"]:
        assert one["bytes"] == sum(spread[name][3] for name in one["parameters"])
        assert one["whole_bytes"] == sum(spread[name][4] for name in one["parameters"])


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", ["fsdp2", "nested"])
def test_saves_are_those_of_pytorchs_hooks_on_what_tensors_consist_of(case, recorded, tmp_path):
    report, _ = recorded(case)
    command = [harness.PYTHON, PROGRAM, case]
    harness.in_order(lambda: harness.bare(command, env={**ENV, "ORACLE_SAVES": str(tmp_path)}))
    expected, seen = collections.Counter(), collections.Counter()
    for file in tmp_path.iterdir():
        for path, (_, size) in json.loads(file.read_text())["parts"].items():
            expected[path] += size
    for row in report["saves"]["by_field"]:
        seen["".join(f".{name}" for name in row["field"].split(".")[2:])] += row["logical_bytes"]
    assert {path: size for path, size in seen.items() if size} == {path: size for path, size in expected.items() if size}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("case", ["save_on_cpu", "offloaded"])
def test_what_a_hook_packed_is_named_by_the_field_that_it_stands_for(case, recorded):
    assert fields(recorded(case)[0], "packed") >= {"GeluBackward0.self", "MmBackward0.self", "NativeLayerNormBackward0.input"}


def test_what_is_kept_by_checkpointing_is_named_by_its_operator(recorded):
    assert fields(recorded("selective")[0], "checkpointing") == {".aten.mm.default", ".aten.gelu.default"}


def test_what_is_kept_on_ctx_is_named_by_its_attribute(recorded):
    assert fields(recorded("stashed")[0], "context") == {"StashingBackward.mask", "StashingBackward.parts"}
