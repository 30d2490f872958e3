"""Marks of a recorded program: tapelens.region(), step(), start(), stop(). They have no effect without recording."""

import functools

import pytest

import harness
from python_package import ENVIRONMENT

PROGRAM = harness.CASES / "marked.py"
MIB = 1 << 20
EVALUATION = 16384 * 512 * 4  # bytes of the hidden layer in the evaluation at the begin


@functools.cache
def printed(how):
    """The program's output. Its second word shows that the program is not recorded."""
    run = harness.bare([harness.PYTHON, PROGRAM, how], env=ENVIRONMENT, check=True)
    assert run.stdout.split()[1] == "False" and run.stderr == ""
    return run.stdout.split()[0]


def recorded(target, how, options=()):
    run, report = harness.record_and_report([harness.PYTHON, PROGRAM, how], target, options, env=ENVIRONMENT)
    assert (run.stdout.split()[0], run.stderr) == (printed(how), "")
    return report, run


@pytest.fixture(scope="module")
def of_steps(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("steps") / "run.tapelens", "steps")


def test_the_program_says_where_steps_end(of_steps, target):
    report, run = of_steps
    assert run.stdout.split()[1] == "True"
    assert harness.lost(report) == []
    steps = [step for step in report["steps"] if step["complete"]]
    assert len(steps) == 4
    assert [step["begin_ns"] for step in steps[1:]] == [step["end_ns"] for step in steps[:-1]]
    forwards = [one for one in report["ranges"] if one["name"] == "forward"]
    assert [sum(step["begin_ns"] <= one["begin_ns"] < step["end_ns"] for one in forwards) for step in steps] == [2, 2, 2, 2]
    assert len(recorded(target, "backwards")[0]["steps"]) == 8, "without that each backward ends one"


def test_regions_are_in_the_report(of_steps):
    report, _ = of_steps
    regions = [one["name"] for one in report["ranges"]]
    assert regions == ["evaluation"] + ["forward", "forward", "update"] * 4
    (evaluation,) = [one for one in report["ranges"] if one["name"] == "evaluation"]
    assert evaluation["peak_bytes"] == report["peak"]["bytes"] >= EVALUATION


@pytest.mark.parametrize("options", [(), ("--marked",)], ids=lambda options: options[0] if options else "")
def test_what_is_looked_at_is_between_start_and_stop(target, options):
    report, run = recorded(target, "window", options)
    assert run.stdout.split()[1] == "False", "stop() was the last that is recorded"
    assert report["peak"]["bytes"] < EVALUATION
    names = [one["name"] for one in report["ranges"]]
    assert names[-6:] == ["forward", "forward", "update"] * 2
    assert ("evaluation" in names) == (options == ()), "with --marked only memory is recorded before"
    assert {one["name"] for one in report["peak"]["by_category"]} >= {"saved", "parameter"}
    assert not [one for one in harness.lost(report) if one["kind"] != "unmatched_event"]


def test_a_start_that_never_comes_is_said(target):
    report, _ = recorded(target, "steps", ["--marked"])
    assert [one["kind"] for one in harness.lost(report)] == ["never_started"]
    assert report["peak"]["bytes"] >= EVALUATION
    text = harness.bare([harness.BINARY, "report", target]).stdout
    assert "never called tapelens.start()" in " ".join(text.split())


def test_the_last_steps_are_those_that_the_program_says(target):
    report, _ = recorded(target, "steps", ["--last", "2"])
    assert [step["index"] for step in report["steps"] if step["complete"]] == [2, 3]


@pytest.mark.parametrize("torch_first", [True, False])
def test_marks_before_any_operator(target, torch_first):
    lines = ["import tapelens", "tapelens.start()", "tapelens.step()",
             "with tapelens.region('early'): pass", "import torch" if not torch_first else "",
             "with tapelens.region('ones'): x = torch.ones(1 << 20)", "tapelens.step()", "print(tapelens.is_recorded())"]
    program = "\n".join((["import torch"] if torch_first else []) + lines)
    run, report = harness.record_and_report([harness.PYTHON, "-c", program], target, ["--marked"], env=ENVIRONMENT)
    assert run.stdout == "True\n"
    assert [one["name"] for one in report["ranges"]][-1] == "ones"
    assert report["peak"]["bytes"] >= 4 * MIB
    assert harness.lost(report) == []


def test_a_forked_child_and_a_rewritten_run_are_not_recorded(target):
    program = ("import os, sys, torch, tapelens\ntorch.ones(3)\nprint(tapelens.is_recorded(), flush=True)\n"
               "if os.fork() == 0:\n  print(tapelens.is_recorded(), flush=True); tapelens.step(); os._exit(0)\nos.wait()")
    run = harness.record([harness.PYTHON, "-c", program], target, env=ENVIRONMENT)
    assert (run.code, run.stdout) == (0, "True\nFalse\n")
    run = harness.bare([harness.BINARY, "run", "--quiet", "--apply", "lossless", "--", harness.PYTHON, "-c", program], env=ENVIRONMENT)
    assert (run.code, run.stdout) == (0, "False\nFalse\n"), run.stderr
