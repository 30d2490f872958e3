"""Recordings of the ranks of a run, one file each or one for all: the output of `tapelens ranks`."""

import json
import socket

import harness

PROGRAM = harness.CASES / "uneven_ranks.py"
MIB = 1 << 20
KEPT = 8 * MIB


def ranks(*words, options=()):
    run = harness.bare([harness.BINARY, "ranks", "--format", "json", *options, *words], check=True)
    return json.loads(run.stdout)


def peaks(said):
    return {one["rank"]: one["peak_bytes"] for one in said["ranks"]}


def test_each_rank_writes_its_own_file_and_the_one_that_keeps_more_and_dies_is_seen(tmp_path):
    record = [harness.BINARY, "record", "--quiet", "-o", tmp_path / "runs/%h-%r.tapelens", "--", harness.PYTHON, PROGRAM, "fails"]
    run = harness.bare(harness.torchrun("--no-python", *record))
    assert run.code != 0  # that of the rank that failed, as torchrun says it
    files = sorted((tmp_path / "runs").iterdir())
    assert [file.name for file in files] == [f"{socket.gethostname()}-{rank}.tapelens" for rank in (0, 1)]
    said = ranks(tmp_path / "runs")
    assert [one["host"] for one in said["ranks"]] == [socket.gethostname()] * 2
    assert (said["expected_ranks"], said["missing"], said["left_out"]) == (2, [], [])
    # A thread of gloo decides when a scalar of a collective is freed.
    assert abs(peaks(said)[1] - peaks(said)[0] - KEPT) <= 64
    two = said["two_ranks"]
    assert (two["larger"], two["difference_bytes"]) == (1, peaks(said)[1] - peaks(said)[0])
    assert "uneven_ranks.py:" in two["why"] and "other live tensors" in two["why"]
    assert {one["rank"]: one["exit_code"] for one in said["ended_badly"]}[1] == 3
    assert said["findings_unknown"] == 0
    # Compares with each file's report, which reads the columns and not the summary.
    for file, one in zip(files, said["ranks"], strict=True):
        peak = harness.report(file)["peak"]
        assert one["peak_bytes"] == peak["bytes"]
        assert one["by_category"] == {group["name"]: group["bytes"] for group in peak["by_category"]}
    assert said["envelope"]["most"] != said["envelope"]["least"]


def test_one_file_of_all_ranks_keeps_the_events_of_those_that_are_asked_for(tmp_path):
    target = tmp_path / "two.tapelens"
    run = harness.in_order(lambda: harness.record(harness.torchrun(PROGRAM), target, ["--ranks", "0"]))
    assert run.code == 0, run.stderr
    report = harness.report(target)
    assert [process["rank"] for process in report["processes"]] == [0]
    said = ranks(target)
    assert peaks(said)[0] == report["peak"]["bytes"]
    assert abs(peaks(said)[1] - peaks(said)[0] - KEPT) <= 64
    assert said["ended_badly"] == []


def test_the_table_of_modules_has_every_parameter_and_sums_to_the_peak(tmp_path):
    target = tmp_path / "run.tapelens"
    harness.in_order(lambda: harness.record(harness.torchrun(PROGRAM), target))
    report = harness.report(target, ["--by", "module"])
    harness.validator().validate(report)
    tables = {table["phase"]: table for table in report["modules"]}
    assert {"forward", "backward", "optimizer"} <= set(tables)
    assert sum(table["is_peak"] for table in tables.values()) == 1
    linear = (256 * 512 + 512) * 4, (512 * 256 + 256) * 4
    for table in tables.values():
        assert sum(row["bytes"] for row in table["rows"]) == table["bytes"]
        by_name = {}
        for row in table["rows"]:
            columns = {one["name"]: one["bytes"] for one in row["by_category"]}
            assert sum(columns.values()) == row["bytes"]
            by_name[row["module"].removeprefix("DistributedDataParallel.module.")] = columns
        assert (by_name["0"]["parameter"], by_name["2"]["parameter"]) == linear
    state = {row["module"]: dict((one["name"], one["bytes"]) for one in row["by_category"]) for row in tables["optimizer"]["rows"]}
    assert sum(row.get("optimizer_state", 0) for row in state.values()) >= 2 * sum(linear)
