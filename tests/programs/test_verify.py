"""The verdicts of verify on real programs: identical, different (with the place), not deterministic, failed."""

import json
import os
import pathlib

import pytest

import harness

PROGRAM = harness.CASES / "verified.py"
WRONG = os.environ.get("TAPELENS_WRONG_REWRITE", "")
SMALL = ["--rewrite-min-bytes", "1KiB"]


def verify(options, command, tmp_path):
    """The run of verify, its verdict, and the program's output."""
    verdict = tmp_path / "verdict.json"
    run = harness.bare([harness.BINARY, "verify", "--format", "json", "-o", verdict, *options, "--", *command])
    return run, json.loads(verdict.read_text()) if verdict.exists() else None


def python(*arguments):
    return [harness.PYTHON, PROGRAM, *arguments]


def printed_losses(run):
    return [float(line.split()[1]) for line in run.stdout.splitlines() if line.startswith("loss ")]


def test_a_run_that_recomputes_each_layer_is_identical_and_much_smaller(tmp_path):
    command = [harness.PYTHON, harness.ROOT / "samples/gpt.py", "--size", "medium", "--steps", "3"]
    run, verdict = verify(["--apply", "recompute"], command, tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["verdict"] == "identical"
    assert verdict["rewritten"]["peak_bytes"] < 0.5 * verdict["bare"]["peak_bytes"]


def test_a_lossless_run_is_identical_and_smaller(tmp_path):
    run, verdict = verify(["--apply", "lossless", *SMALL], python(), tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["identical"] and verdict["deterministic"] and verdict["first_difference"] is None
    assert verdict["verdict"] == "identical"
    assert verdict["compared"] == {"steps": 3, "losses": 3, "gradients": 9, "parameters": 9}
    assert verdict["not_compared"] == {"gradients": 0, "parameters": 0}
    assert verdict["bare"]["loss"] == verdict["rewritten"]["loss"] == pytest.approx(printed_losses(run), rel=1e-6)
    assert verdict["bare"]["gradient_checksum"] == verdict["rewritten"]["gradient_checksum"]
    assert len(set(verdict["bare"]["gradient_checksum"])) == 3
    assert verdict["applied"], "something of it is for nothing"
    assert verdict["rewritten"]["saved_peak_bytes"] < verdict["bare"]["saved_peak_bytes"]
    assert verdict["rewritten"]["peak_bytes"] <= verdict["bare"]["peak_bytes"]
    assert verdict["rewritten"]["last_step_peak_bytes"] <= verdict["bare"]["last_step_peak_bytes"] <= verdict["bare"]["peak_bytes"]
    assert run.stdout.count("done") == 1, "only the first run is to be seen"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["strange", "closure"])
def test_gradients_of_every_kind_are_compared(how, tmp_path):
    run, verdict = verify(["--apply", "bitwise", *SMALL], python(how), tmp_path)
    assert harness.nothing_differs(run, verdict)
    steps = 3
    # One of four parameters never has a gradient. With a closure, gradients are computed before the step and after it.
    expected = {"strange": 3 * steps, "closure": 3 * (2 * steps - 1)}[how]
    assert verdict["compared"]["gradients"] == expected
    assert verdict["compared"]["losses"] == len(printed_losses(run))
    assert "not compared" not in run.stderr


def test_only_the_wanted_steps_are_compared_and_the_program_runs_to_its_end(tmp_path):
    run, verdict = verify(["--apply", "lossless", "--steps", "1"], python(), tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["compared"]["steps"] == 1
    assert len(printed_losses(run)) == 3
    assert run.stdout.endswith("done\n")


def test_a_program_that_is_not_seeded_is_recognised(tmp_path):
    run, verdict = verify(["--apply", "lossless"], python("unseeded"), tmp_path)
    assert run.code == 5
    assert not verdict["deterministic"] and not verdict["identical"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["threads", "tasks", "processes"])
def test_who_of_several_comes_first_does_not_count(how, tmp_path):
    together = [harness.PYTHON, harness.CASES / "verified_together.py", how]
    run, verdict = verify(["--apply", "bitwise", *SMALL], together, tmp_path)
    assert harness.nothing_differs(run, verdict)
    assert verdict["compared"] == {"steps": 3, "losses": 2 * 3, "gradients": 2 * 3 * 4, "parameters": 2 * 3 * 4}


def test_a_wrong_rewrite_is_found_in_threads_too(tmp_path):
    together = [harness.PYTHON, harness.CASES / "verified_together.py", "threads"]
    options = ["--apply", "lossless", "--rewrite-plugin", WRONG, *SMALL]
    run, verdict = verify(options, [*together, "tanh"], tmp_path)
    assert run.code == 1, run.stderr + str(verdict)
    assert verdict["first_difference"]["rewrite"] == "forgotten-tanh"


def test_of_a_program_that_fails_nothing_is_claimed(tmp_path):
    run, verdict = verify(["--apply", "lossless"], python("fails"), tmp_path)
    assert run.code == 6
    assert verdict is None
    assert "RuntimeError: on purpose" in run.stderr
    assert "the command ended with exit code 1: nothing was compared" in run.stderr


def test_a_wrong_rewrite_is_found_and_so_is_its_site(tmp_path):
    options = ["--apply", "lossless", "--rewrite-plugin", WRONG, *SMALL]
    run, verdict = verify(options, python(), tmp_path)
    assert run.code == 1, run.stderr
    first = verdict["first_difference"]
    assert first["kind"] == "gradient" and first["step"] == 0
    assert first["rewrite"] == "forgotten-tanh"
    site = first["site"]
    assert (site["node"], site["field"]) == ("TanhBackward0", "result")
    line = next(i for i, text in enumerate(PROGRAM.read_text().splitlines(), 1) if "torch.tanh" in text)
    assert site["source"] == f"verified.py:{line}"


def test_a_plan_of_the_advisor_is_identical(tmp_path):
    recording, plan = tmp_path / "run.tapelens", tmp_path / "plan.json"
    harness.record(python(), recording, check=True)
    harness.bare([harness.BINARY, "advise", recording, "--write-plan", plan, "-o", os.devnull], check=True)
    sites = json.loads(plan.read_text())["sites"]
    assert sites
    run, verdict = verify(["--apply", plan, *SMALL], python(), tmp_path)
    assert run.code == 0, run.stderr
    assert verdict["identical"]
    assert {row["rewrite"] for row in verdict["applied"]} <= {site["rewrite"] for site in sites}


def test_a_cpp_program_is_compared_by_the_names_of_its_parameters(tmp_path):
    if not pathlib.Path(harness.TRAINER).exists():
        pytest.skip("no trainer was built")
    run, verdict = verify(["--apply", "lossless", "--steps", "2"], [harness.TRAINER], tmp_path)
    assert harness.nothing_differs(run, verdict)
    assert verdict["compared"]["steps"] == 2
    assert verdict["compared"]["gradients"] > 0 and verdict["compared"]["parameters"] > 0
    assert all(loss is not None for loss in verdict["bare"]["loss"])


def test_run_changes_nothing_but_the_closing_line(tmp_path):
    alone = harness.bare(python())
    run = harness.bare([harness.BINARY, "run", "--apply", "lossless", *SMALL, "--", *python()])
    assert (run.code, run.stdout) == (alone.code, alone.stdout)
    assert run.stderr.startswith(alone.stderr + "tapelens: rewrote ")
    quiet = harness.bare([harness.BINARY, "run", "--quiet", "--apply", "lossless", *SMALL, "--", *python()])
    assert quiet.said() == alone.said()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dtype, rounding", [(None, 1e-5), ("bfloat16", 1e-1)])
def test_sums_in_another_order_are_measured_against_float64(dtype, rounding, tmp_path):
    command = [harness.PYTHON, harness.CASES / "rounding.py", *([dtype] if dtype else [])]
    run, verdict = verify(["--apply", "bitwise", "--allow", "expanded-save", *SMALL], command, tmp_path)
    assert run.code == 1, run.stderr
    assert verdict["verdict"] == "different" and verdict["deterministic"]
    assert verdict["rounding"]["unknown"] is None and verdict["rounding"]["left_out"] == 0
    gradients = {one.pop("parameter"): one for one in verdict["rounding"]["gradients"]}
    expected = float64_errors()
    assert gradients.keys() == expected.keys()
    assert gradients["heads"]["difference"] > 0
    assert gradients["out.bias"]["difference"] == 0, "what comes after the product is the same"
    for name, one in gradients.items():
        if name.startswith("norm."):  # sums that cancel in bfloat16
            continue
        assert 0 < one["bare_error"] < rounding and one["rewritten_error"] < rounding, name
        if dtype is None:
            # Except for dropout, the test can run the whole program in float64.
            assert one["bare_error"] == pytest.approx(expected[name], rel=0.2), name


def float64_errors():
    """The expected numbers of verify for the bare program: its first gradients, and those of the same program in
    float64."""
    program = """
import sys, json, torch
from torch.nn import functional as F
sys.argv = sys.argv[1:]
source = open(sys.argv[0]).read().split("for _ in range(3)")[0]
gradients = []
for wide in (False, True):
    names = {"__name__": "__main__"}
    exec(source, names)
    model, inputs = names["model"], names["inputs"]
    if wide:
        keep = F.dropout
        masks = iter(drawn)
        F.dropout = lambda x, p: x * next(masks)
        model.double(); inputs = inputs.double()
    else:
        keep, drawn = F.dropout, []
        def dropout(x, p):
            mask = torch.empty_like(x).bernoulli_(1 - p).div_(1 - p)
            drawn.append(mask.double())
            return x * mask
        F.dropout = dropout
    try:
        F.cross_entropy(model(inputs), names["targets"]).backward()
    finally:
        F.dropout = keep
    gradients.append({name: p.grad.double() for name, p in model.named_parameters()})
print(json.dumps({n: ((g - gradients[1][n]).abs().max() / gradients[1][n].abs().max()).item() for n, g in gradients[0].items()}))
"""
    done = harness.bare([harness.PYTHON, "-c", program, harness.CASES / "rounding.py"], check=True)
    return json.loads(done.stdout.splitlines()[-1])


def test_a_wrong_rewrite_beside_one_that_adds_in_another_order_is_no_rounding(tmp_path):
    command = [harness.PYTHON, harness.CASES / "rounding.py"]
    run, verdict = verify(["--rewrite-plugin", WRONG, "--apply", "lossless", "--allow", "expanded-save", *SMALL], command, tmp_path)
    assert run.code == 1, run.stderr
    assert verdict["rounding"] is None
    assert verdict["first_difference"]["rewrite"] not in (None, "expanded-save")


def test_a_wrong_rewrite_whose_level_may_change_bits_is_no_rounding(tmp_path):
    """The rewrite does not declare another order of sums, so verify must not assume one."""
    program = """
import torch
torch.manual_seed(1)
weight = torch.nn.Parameter(torch.randn(64, 64))
optimizer = torch.optim.SGD([weight], lr=0.1)
torch.sigmoid(torch.randn(32, 64) @ weight).sum(0).square().sum().backward()
optimizer.step()
"""
    options = ["--rewrite-plugin", WRONG, "--allow", "forgotten-sigmoid", *SMALL]
    run, verdict = verify(options, [harness.PYTHON, "-c", program], tmp_path)
    assert run.code == 1, run.stderr
    assert verdict["rounding"] is None
    assert verdict["first_difference"]["rewrite"] == "forgotten-sigmoid"


RETURNED = harness.CASES / "returned_gradients.py"


# The number of gradients that each of the three rounds returns.
@pytest.mark.sampled(3)
@pytest.mark.parametrize(("how", "count"), [("own", 5), ("materialized", 5), ("maml", 15), ("pinn", 7), ("batched", 1), ("inside", 1)])
def test_what_torch_autograd_grad_returns_is_compared(how, count, tmp_path):
    run, verdict = verify(["--apply", "lossless", *SMALL], [harness.PYTHON, RETURNED, how], tmp_path)
    assert run.code == 0, run.stderr + str(verdict)
    assert verdict["verdict"] == "identical" and verdict["compared"]["returned_gradients"] == 3 * count
    assert verdict["not_compared"] == {"gradients": 0, "parameters": 0}
    assert verdict["applied"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["own", "maml", "pinn", "inside"])
def test_a_wrong_rewrite_is_found_in_what_torch_autograd_grad_returns(how, tmp_path):
    options = ["--apply", "lossless", "--rewrite-plugin", WRONG, *SMALL]
    run, verdict = verify(options, [harness.PYTHON, RETURNED, how], tmp_path)
    assert run.code == 1, run.stderr + str(verdict)
    first = verdict["first_difference"]
    assert first["kind"] == "returned_gradient" and first["rewrite"] == "forgotten-tanh"
    if how == "own":
        assert first["parameter"] in ("first.weight", "first.bias")


def test_inside_of_torch_func_nothing_is_rewritten_and_nothing_claimed(tmp_path):
    run, verdict = verify(["--apply", "lossless", *SMALL], [harness.PYTHON, RETURNED, "func"], tmp_path)
    assert run.code == 5 and verdict["verdict"] == "none" and verdict["compared"]["returned_gradients"] == 15
    assert verdict["why_nothing_applied"] and verdict["not_compared"] == {"gradients": 0, "parameters": 0}


def test_what_is_below_the_least_size_leaves_no_verdict(tmp_path):
    run, verdict = verify(["--apply", "lossless", "--rewrite-min-bytes", "1GiB"], python(), tmp_path)
    assert run.code == 5 and verdict["verdict"] == "none" and not verdict["applied"]
    assert "with a storage of at least 1.0 GiB" in verdict["why_nothing_applied"]
