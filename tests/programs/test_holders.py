"""Holders at the peak, in programs with known holders (cases/truths.py)."""

import functools
import json

import pytest

import harness

TRUTHS = harness.CASES / "truths.py"
F32 = 4


@pytest.fixture(scope="module")
def peak_of(tmp_path_factory):
    @functools.lru_cache
    def run(case):
        target = tmp_path_factory.mktemp(case) / "run.tapelens"
        _, report = harness.record_and_report([harness.PYTHON, TRUTHS, case], target)
        assert harness.lost(report) == []
        return report["peak"]
    return run


def of_bytes(peak, count):
    return [a for a in peak["allocations"] if a["bytes"] == count]


def kinds(allocation):
    return {holder["kind"] for holder in allocation["holders"]}


def held(peak, count):
    """(kind, node, field) of the only allocation of that size."""
    (allocation,) = of_bytes(peak, count)
    return {(h["kind"], h.get("node"), h.get("field")) for h in allocation["holders"]}


def line_of(mark):
    for number, text in enumerate(TRUTHS.read_text().splitlines(), 1):
        if text.endswith(f"# mark: {mark}"):
            return number
    raise AssertionError(mark)


def lines(allocation):
    return {frame["line"] for frame in allocation["stack"] if frame["file"].endswith("truths.py")}


def test_tensors_in_the_programs_own_list_are_the_programs(peak_of):
    peak = peak_of("kept")
    for rows in (1001, 1002):
        (allocation,) = of_bytes(peak, rows * 32 * F32)
        assert kinds(allocation) == {"program"}
        assert line_of("kept") in lines(allocation)
        assert "zeros" in allocation["operator"] or "empty" in allocation["operator"]


def test_what_a_hook_makes_in_a_backward_is_of_the_hooks_line(peak_of):
    peak = peak_of("hooked")
    for rows, mark in ((1409, "after_accumulation"), (1423, "on_tensor"), (1427, "before_node"), (1429, "after_node")):
        (allocation,) = of_bytes(peak, rows * 32 * F32)
        assert kinds(allocation) == {"program"}
        assert allocation["stack"][0]["line"] == line_of(mark), allocation


def test_a_view_that_is_kept_is_the_programs(peak_of):
    (allocation,) = of_bytes(peak_of("view_kept"), 1091 * 32 * F32)
    assert kinds(allocation) == {"program"}


def test_what_autograd_saved_is_held_by_its_nodes_even_if_the_program_names_it_too(peak_of):
    allocations = of_bytes(peak_of("kept_and_saved"), 1011 * 32 * F32)
    fields = {(h["node"], h["field"]) for a in allocations for h in a["holders"] if h["kind"] == "save"}
    assert fields >= {("ExpBackward0", "result"), ("SigmoidBackward0", "result")}
    exp = [a for a in allocations if any(h.get("node") == "ExpBackward0" for h in a["holders"])]
    assert len(exp) == 1 and line_of("exp") in lines(exp[0]) and kinds(exp[0]) == {"save"}


def test_results_that_only_nodes_refer_to_are_held_by_saves(peak_of):
    allocations = of_bytes(peak_of("saved_only"), 1021 * 32 * F32)
    fields = {(h["node"], h["field"]) for a in allocations for h in a["holders"] if h["kind"] == "save"}
    assert fields == {("ExpBackward0", "result"), ("SinBackward0", "self"), ("CosBackward0", "self")}
    assert all("program" not in kinds(a) or len(a["holders"]) == 1 for a in allocations)
    # w is a leaf without a module or optimizer. Its holder is a parameter of autograd, or the program.
    assert sum("save" in kinds(a) for a in allocations) == 2


@pytest.mark.parametrize("case", ["adam", "sgd"])
def test_parameters_buffers_and_gradients_have_their_names(peak_of, case):
    peak = peak_of(case)
    expected = {"up.weight": 31 * 1033, "down.weight": 1033 * 7, "table": 1039 * 3, "up.bias": 1033}
    for name, elements in expected.items():
        holders = [h for a in of_bytes(peak, elements * F32) for h in a["holders"]]
        kind = "buffer" if name == "table" else "parameter"
        assert [h["name"] for h in holders if h["kind"] == kind and h["name"].endswith(name)], (name, holders)
        if kind == "parameter":
            assert [h for h in holders if h["kind"] == "gradient" and name in h["name"]], (name, holders)
        assert "program" not in {h["kind"] for h in holders}, (name, holders)


def test_the_state_of_adam_is_optimizer_state(peak_of):
    allocations = of_bytes(peak_of("adam"), 31 * 1033 * F32)
    names = [h["name"] for a in allocations for h in a["holders"] if h["kind"] == "optimizer_state"]
    assert len(names) == 2 and "exp_avg_sq" in " ".join(names)
    assert len(allocations) == 4  # the weight, its gradient, and the two


@pytest.mark.parametrize("case", ["in_flight", "branch_in_flight"])
def test_gradients_in_flight_are_not_the_programs(peak_of, case):
    peak = peak_of(case)
    assert peak["phase"] == "backward"
    spike = 256 << 20
    wrong = [a for a in peak["allocations"] if a["bytes"] >= 1024 and a["bytes"] != spike and "program" in kinds(a)]
    # `wide` is saved; `w`, a leaf without a module, is what its AccumulateGrad holds.
    assert wrong == []


def test_a_graph_whose_saves_are_released_holds_only_the_leaf_and_its_gradient(peak_of):
    allocations = of_bytes(peak_of("after_backward"), 1071 * 32 * F32)
    assert len(allocations) == 2
    assert all("save" not in kinds(a) for a in allocations)


def test_a_retained_graph_still_holds_its_saves(peak_of):
    allocations = of_bytes(peak_of("retained"), 1081 * 32 * F32)
    fields = {(h["node"], h["field"]) for a in allocations for h in a["holders"] if h["kind"] == "save"}
    assert fields == {("ExpBackward0", "result"), ("SinBackward0", "self")}


def test_the_module_that_allocated_is_named(tmp_path):
    _, report = harness.record_and_report([harness.PYTHON, harness.CASES / "modules.py"], tmp_path / "run.tapelens")
    up, sine = sorted(of_bytes(report["peak"], 37 * 1033 * F32), key=lambda a: a["id"])
    assert up["module"].endswith("blocks.1.up"), up["module"]
    assert [(h["node"], h["field"]) for h in up["holders"]] == [("SinBackward0", "self")]
    frames = {(f["file"].rsplit("/", 1)[-1], f["function"].rsplit(".", 1)[-1]) for f in up["stack"]}
    assert ("modules.py", "forward") in frames and ("linear.py", "forward") in frames
    assert sine["module"].endswith("blocks.1"), sine["module"]
    assert [(h["node"], h["field"]) for h in sine["holders"]] == [("AddmmBackward0", "mat1")]


@pytest.mark.parametrize("case", ["checkpointed", "nested_checkpoints"])
def test_recomputed_activations_are_of_the_module_and_line_that_recompute_them(peak_of, case):
    peak = peak_of(case)
    assert peak["phase"] == "backward"
    by_kind = {tuple(sorted(kinds(a))): a for a in of_bytes(peak, 1103 * 1033 * F32)}
    assert set(by_kind) == {("recomputed",), ("gradient",)}
    activation = by_kind["recomputed",]
    assert activation["operator"] == "aten::tanh" and activation["category"] == "recomputed"
    assert activation["module"].rsplit(".", 1)[-1] in ("Block", "1")
    assert line_of("tanh") in lines(activation)
    # Later results of the backward belong to the node that makes them, not to a module that was called again.
    (holder,) = by_kind["gradient",]["holders"]
    assert holder["node"] == "AddmmBackward0"


def test_the_history_of_lbfgs_is_optimizer_state(peak_of):
    elements = 31 * 1033 + 1033 + 1033 * 7 + 7
    allocations = of_bytes(peak_of("lbfgs"), elements * F32)
    assert all("program" not in kinds(a) for a in allocations), allocations
    states = [h for a in allocations for h in a["holders"] if h["kind"] == "optimizer_state"]
    assert {h["name"] for h in states} >= {"old_dirs", "old_stps", "d", "prev_flat_grad"}
    assert not any(h.get("parameter") for h in states), "it belongs to all parameters"


def test_tensors_in_containers_of_the_state_are_optimizer_state(peak_of):
    peak = peak_of("nested_state")
    for columns, name in ((1201, "factors"), (1203, "factors"), (1207, "roots.left.inverse")):
        (allocation,) = of_bytes(peak, 6 * columns * F32)
        assert [(h["kind"], h["name"]) for h in allocation["holders"]] == [("optimizer_state", name)]


@pytest.mark.parametrize("case, phase", [("closure_before", "optimizer"), ("closure_forward", "forward"),
                                         ("closure_after", "optimizer")])
def test_the_phases_of_a_closure_are_those_of_what_it_runs(peak_of, case, phase):
    assert peak_of(case)["phase"] == phase


EVALUATED = """
import torch
from torch import nn
model = nn.Sequential(*(layer for _ in range(2) for layer in (nn.Linear(256, 256), nn.Tanh())))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(64, 256)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == AT:
        with WITHOUT:
            model(torch.randn(4096, 256))
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("at", [1, 2])  # between two steps, and after the last one
@pytest.mark.parametrize("without, phase", [("torch.no_grad()", "evaluation"), ("torch.inference_mode()", "evaluation"),
                                            ("torch.enable_grad()", "forward")])
def test_a_forward_without_gradients_is_an_evaluation(without, phase, at, tmp_path):
    program = EVALUATED.replace("WITHOUT", without).replace("AT", str(at))
    _, report = harness.record_and_report([harness.PYTHON, "-c", program], tmp_path / "run.tapelens")
    assert (report["peak"]["phase"], report["peak"]["step"]) == (phase, at + 1)
    assert [step["complete"] for step in report["steps"]] == [True] * 3 + [False] * (at - 1)


def test_saves_of_operators_that_raise_are_counted(tmp_path):
    out = tmp_path / "saves.json"
    harness.bare([harness.PYTHON, harness.CASES / "oracle_saves.py", out, TRUTHS, "raises"], check=True)
    seen = json.loads(out.read_text())
    _, report = harness.record_and_report([harness.PYTHON, TRUTHS, "raises"], tmp_path / "run.tapelens")
    assert harness.lost(report) == []
    saves = report["saves"]
    assert (saves["count"], saves["logical_bytes"], saves["unattributed"]) == (seen["count"], seen["logical_bytes"], 0)
    assert seen["count"] == 6, "two of each product, twice the failed one"
