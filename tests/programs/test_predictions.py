"""Rewrites have the effect that `tapelens advise --apply` predicts, and the same effect in every run."""

import pytest

import harness
import predictions


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", predictions.ARCHITECTURES)
def test_predictions_are_one_percent_off_at_most_or_within_their_bounds(name, tmp_path):
    for figure in predictions.compare(predictions.program(name), tmp_path, "bitwise"):
        assert figure.is_right(), f"{figure.of}: {figure.predicted()} predicted, {figure.measured:,} measured"
        assert figure.least <= figure.most <= figure.bare * 1.05


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["convlstm", "gpt", "experts", "vae_autocast", "unet", "squeeze_excite", "gan"])
def test_predictions_of_recompute_are_one_percent_off_at_most(name, tmp_path):
    (peak, _) = predictions.compare(predictions.program(name), tmp_path, "recompute")
    assert peak.is_right(), f"{peak.predicted()} predicted, {peak.measured:,} measured"
    assert peak.measured < 0.8 * peak.bare


def test_a_thousand_random_chains_are_decided_as_predicted(tmp_path):
    for figure in predictions.compare(predictions.program("chains", 40), tmp_path, "bitwise"):
        assert figure.is_right(), f"{figure.of}: {figure.predicted()} predicted, {figure.measured:,} measured"


def test_two_runs_take_the_same_decisions(tmp_path):
    def decided(target):
        run = harness.record(predictions.program("convlstm", 4), target, ["--apply", "bitwise"])
        assert run.code == 0, run.stderr
        report = harness.report(target, ["--top", "0"])
        assert any(skipped["reason"] == "over the recompute budget" for skipped in report["rewritten"]["skipped"])
        return report["peak"]["bytes"], report["rewritten"]
    assert decided(tmp_path / "one") == decided(tmp_path / "two")


def test_rewrites_hold_nothing_of_a_step_that_is_over(tmp_path):
    """With a small budget, the rewrite recomputes only a part of a chain."""
    (peak, _) = predictions.compare(predictions.program("convlstm", 4), tmp_path, "bitwise", ["--recompute-budget", "2%"])
    assert peak.measured <= peak.bare
