"""Inefficiencies of published programs (cases/seeds.py), scaled down: the place of the bytes, the unneeded bytes, and
the peak without them. The bytes follow from the shapes."""

import functools

import pytest

import harness

SEEDS = harness.CASES / "seeds.py"
MIB = 1024 * 1024


@pytest.fixture(scope="module")
def advice_of(tmp_path_factory):
    @functools.lru_cache
    def run(name, *numbers):
        target = tmp_path_factory.mktemp(name) / "run.tapelens"
        command = [harness.PYTHON, SEEDS, name, *map(str, numbers)]
        _, report = harness.record_and_report(command, target)
        assert harness.lost(report) == []
        return report
    return run


def of_check(report, check):
    return [f for f in report["findings"] if f["check"] == check]


def of_field(report, check, node, field):
    (finding,) = [f for f in of_check(report, check) if (f["node"], f["field"]) == (node, field)]
    return finding


def peaks(report):
    return report["advice"]["peak_before_bytes"], report["advice"]["peak_after_all_bytes"]


def test_a_frozen_stack_grows_with_its_depth_and_need_not(advice_of):
    activation = 16 * 16 * 64 * 64 * 4
    shallow, deep = advice_of("conv_stack", 5), advice_of("conv_stack", 15)
    assert peaks(deep)[0] - peaks(shallow)[0] == pytest.approx(10 * activation, rel=0.01)
    assert peaks(deep)[1] == pytest.approx(peaks(shallow)[1], rel=0.01)
    finding = of_field(deep, "unneeded-save", "ConvolutionBackward0", "input")
    # The inputs of the 14 frozen ones; that of the first is needed.
    assert finding["bytes"] == 14 * activation
    assert finding["sites"] == 14
    assert finding["severity"] == "warning"


def test_every_keeper_gives_up_in_a_block_of_conv_norm_and_relu(advice_of):
    report = advice_of("block_stack", 6)
    before, after = peaks(report)
    # The rest: the batch that the first convolution saved, and the tensors of its backward: the gradient of its output,
    # that of the convolution after it, and a transposed copy.
    assert before > 49 * MIB
    assert after < 17 * MIB
    checks = {f["check"] for f in report["findings"] if f["retained_at_peak_with_all_bytes"] > 0 or
              f["peak_after_bytes"] < f["peak_before_bytes"]}
    assert {"unneeded-save", "wide-save"} <= checks
    assert {(f["node"], f["field"]) for f in of_check(report, "unneeded-save")} >= {
        ("ConvolutionBackward0", "input"), ("NativeBatchNormBackward0", "input"),
        ("MaxPool2DWithIndicesBackward0", "self")}


def saved(categories):
    return sum(c["bytes"] for c in categories if c["name"] == "saved")


def test_a_resnet_with_its_first_layer_trained(advice_of):
    report = advice_of("resnet_first_layer", 2)
    left = report["advice"]["peak_after_all_by_category"]
    # The first convolution's save, and next to nothing else: x.032, measured with the saves removed by hand.
    assert saved(left) < 0.035 * saved(report["peak"]["by_category"])
    assert saved(left) == 2 * 3 * 224 * 224 * 4
    before, after = peaks(report)
    assert after < 0.7 * before


def test_a_transformer_can_compute_again_what_it_keeps(advice_of):
    report = advice_of("transformer", 2)
    before, after = peaks(report)
    assert after < 0.8 * before
    assert of_check(report, "recomputable-save") and of_check(report, "wide-save")
    assert not [f for f in report["findings"] if f["severity"] != "info"]


def test_the_jacobian_of_one_chunk_is_copied_whole(advice_of):
    jacobian = 8 * 512 * 2304 * 4
    alone = advice_of("jacobian_of_one_chunk", 8, 64, 512, 1)
    (finding,) = of_check(alone, "trivial-concat")
    assert (finding["bytes"], finding["occurrences"], finding["operator"]) == (jacobian, 2, "aten::cat")
    # Inside of the Jacobian of the big layer the peak falls by nearly the whole copy: only its mean is left.
    assert finding["peak_before_bytes"] - finding["peak_after_bytes"] == pytest.approx(jacobian - jacobian / 8, rel=0.01)
    # In the Jacobian of all parameters it moves to the moment when the chunk itself is made.
    whole = advice_of("jacobian_of_one_chunk", 8, 64, 512, 0)
    (finding,) = of_check(whole, "trivial-concat")
    assert 0 < finding["peak_before_bytes"] - finding["peak_after_bytes"] < jacobian / 4


def test_a_scan_stacks_its_invariant_weight(advice_of):
    weight, steps = 256 * 256 * 4, 64
    report = advice_of("scan_with_an_invariant_weight", steps, 256)
    (finding,) = of_check(report, "duplicate-save")
    assert finding["evidence"][0]["bytes"] == steps * weight
    assert finding["peak_before_bytes"] - finding["peak_after_bytes"] >= (steps - 1) * weight
    assert finding["source"]["file"].endswith("seeds.py")


def test_gradients_wait_for_the_step(advice_of):
    layers, width = 8, 1024
    report = advice_of("wide_layers", layers, width)
    (finding,) = of_check(report, "late-gradient")
    assert finding["bytes"] == layers * (width * width + width) * 4
    # Stepped as they come, one matrix is alive, not eight.
    reduction = finding["peak_before_bytes"] - finding["peak_after_bytes"]
    assert reduction == pytest.approx((layers - 1) * width * width * 4, rel=0.01)


def test_the_allocations_of_each_backward_are_counted(tmp_path):
    target = tmp_path / "run.tapelens"
    _, report = harness.record_and_report([harness.PYTHON, SEEDS, "wide_layers", "8", "1024"], target)
    advice = harness.advise(target, ["--check", "allocation-churn", "--option", "allocation-churn.min-pairs=2",
                                     "--option", "allocation-churn.min-bytes=1KiB"])
    (finding,) = advice["findings"]
    # A matrix's and a bias's gradient for each of 8 layers, the gradient that goes on for 7, the sum's, its root.
    counted = {step["backward_allocations"] for step in report["steps"] if step["complete"]}
    assert counted == {8 + 8 + 7 + 2}
    assert f"{counted.pop()} allocations in each backward" in finding["notes"][1]
    assert finding["severity"] == "info" and finding["peak_after_bytes"] == finding["peak_before_bytes"]
