"""Every sample has the same output with and without recording, and its saves and memory equal PyTorch's counts."""

import json
import os

import pytest

import harness

SAMPLES = {
    "resnet_finetune": ["resnet_finetune.py"],
    "gpt": ["gpt.py"],
    "gpt_fused": ["gpt.py", "--fused"],
    "gpt_two_threads": ["gpt.py", "--threads", "2"],
    "lstm": ["lstm.py"],
    "lstm_own_cell": ["lstm.py", "--own-cell"],
    "densenet": ["densenet.py"],
    "jacobian": ["jacobian.py"],
    "gan": ["gan.py"],
    "custom_function": ["custom_function.py"],
    "custom_function_no_checkpoint": ["custom_function.py", "--no-checkpoint"],
    "dataloader": ["dataloader.py"],
}


def sample(name):
    file, *options = SAMPLES[name]
    return [harness.SAMPLES / file, *options]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_prints_the_same_and_its_saves_are_those_of_the_hooks(name, target, tmp_path):
    command = [harness.PYTHON, *sample(name)]
    alone = harness.bare(command, check=True)
    assert "step 2 " in alone.stdout
    recorded, report = harness.record_and_report(command, target)
    assert recorded.said() == alone.said()

    # DataLoader workers are forked children. The report counts them as forks and has no other loss.
    allowed = {"forked_child"} if name == "dataloader" else set()
    assert harness.lost(report, allowed) == []

    out = tmp_path / "saves.json"
    hooked = harness.bare([harness.PYTHON, harness.CASES / "oracle_saves.py", out, *sample(name)], check=True)
    assert hooked.stdout == alone.stdout, "the oracle itself changed the program"
    expected = json.loads(out.read_text())
    saves = report["saves"]
    assert saves["unattributed"] == 0
    # Tensors that the program's own hooks take (checkpoint) are saves whose node holds no storage.
    assert (saves["count"], saves["logical_bytes"]) == (expected["count"] + expected["hidden"],
                                                        expected["logical_bytes"] + expected["hidden_bytes"])
    assert (expected["hidden"] > 0) == (name == "custom_function")

    assert len(report["steps"]) >= 3
    assert harness.unexplained(report) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [n for n in SAMPLES if n != "dataloader"])
def test_the_memory_of_a_whole_sample_is_that_of_the_profiler(name, target, tmp_path):
    out = tmp_path / "memory.json"
    wrapper = [harness.PYTHON, harness.CASES / "oracle_memory.py"]
    harness.bare([*wrapper, out, *sample(name)], check=True)
    (expected,) = json.loads(out.read_text())
    _, report = harness.record_and_report([*wrapper, "-", *sample(name)], target, env={"REGION_ONLY": "1"})
    (found,) = (r for r in report["ranges"] if r["name"] == expected["name"])
    assert {"name": found["name"], "rise": found["peak_bytes"] - found["begin_live_bytes"],
            "allocations": found["allocations"], "allocated_bytes": found["allocated_bytes"]} == expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [n for n in SAMPLES if n != "dataloader"])
def test_without_all_findings_the_peak_is_no_higher_than_without_one(name, target):
    harness.record([harness.PYTHON, *sample(name)], target, check=True)
    advice = harness.advise(target)
    assert advice["advice"]["peak_after_all_bytes"] <= advice["advice"]["peak_before_bytes"]
    for finding in advice["findings"]:
        if not finding["alternative"]:
            assert advice["advice"]["peak_after_all_bytes"] <= finding["peak_after_bytes"], finding["id"]


def test_two_ranks_are_two_processes_of_one_recording_and_the_launcher_is_none(target, tmp_path):
    command = harness.torchrun(harness.SAMPLES / "ddp.py")
    alone = harness.in_order(lambda: harness.bare(command))
    assert "step 2 loss" in alone.stdout
    recorded = harness.in_order(lambda: harness.record(command, target))
    assert recorded.said() == alone.said()
    report = harness.report(target)
    assert sorted(process["rank"] for process in report["processes"]) == [0, 1]
    assert harness.lost(report) == []

    out = tmp_path / "saves"
    oracle = harness.torchrun(harness.CASES / "oracle_saves.py", out, harness.SAMPLES / "ddp.py")
    harness.in_order(lambda: harness.bare(oracle))
    expected = [json.loads((tmp_path / f"saves.{rank}").read_text()) for rank in (0, 1)]
    assert report["saves"]["unattributed"] == 0
    assert report["saves"]["count"] == sum(e["count"] for e in expected)
    assert report["saves"]["logical_bytes"] == sum(e["logical_bytes"] for e in expected)


def test_the_cpp_trainer_prints_the_same_and_its_peak_names_its_lines(target):
    alone = harness.bare([harness.TRAINER], check=True)
    assert alone.stdout.count("loss") == 3
    recorded, report = harness.record_and_report([harness.TRAINER], target)
    assert recorded.said() == alone.said()
    assert harness.lost(report) == []
    assert report["saves"]["unattributed"] == 0
    files = {frame["file"].rsplit("/", 1)[-1] for a in report["peak"]["allocations"] for frame in a["stack"]}
    assert files & {"trainer.cpp", "net.h"}, files


def test_the_saves_of_the_cpp_trainer_are_those_that_an_engine_with_hooks_counts(target, tmp_path):
    oracle = os.environ.get("TAPELENS_CPP_ORACLE")
    if not oracle:
        pytest.skip("TAPELENS_CPP_ORACLE is not set: run through ctest")
    out = tmp_path / "saves.json"
    harness.bare([harness.TRAINER], env={"LD_PRELOAD": oracle, "ORACLE_OUT": str(out)}, check=True)
    expected = json.loads(out.read_text())
    assert expected["count"] > 0
    _, report = harness.record_and_report([harness.TRAINER], target)
    assert {k: report["saves"][k] for k in expected} == expected
