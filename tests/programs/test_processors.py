"""A report of a large recording uses all processors, and is the same with one."""

import json
import os

import pytest

import harness

EVENTS = 1_000_000  # smaller recordings are read by one thread


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="this machine has one processor")
def test_several_processors_have_the_report_of_one(tmp_path):
    recording = tmp_path / "run.tapelens"
    harness.bare([harness.BINARY.parent / "tapelens-synthetic", tmp_path / "spools", EVENTS], check=True)
    harness.bare([harness.BINARY, "seal", tmp_path / "spools", "-o", recording], check=True)
    report = [harness.BINARY, "report", recording, "--format", "json"]
    several = harness.bare(report, check=True)
    one = harness.bare(["taskset", "--cpu-list", min(os.sched_getaffinity(0)), *report], check=True)
    assert several.stdout == one.stdout
    assert json.loads(one.stdout)["findings"]
