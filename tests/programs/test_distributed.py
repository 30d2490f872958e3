"""Training in several processes that the program starts itself: rewrites change no bit, and verify compares each rank with
itself, shards and local tensors too."""

import json
import os

import harness

PROGRAM = harness.CASES / "distributed.py"
FEW = ["fsdp", "+", "fsdp", "transformer", "autocast", "+", "split", "+", "ddp"]
MORE = ["+", "fsdp", "kept", "+", "fsdp", "mixed", "+", "fsdp", "offloaded", "nested", "transformer", "+", "ddp", "transformer",
        "autocast", "+", "split", "autocast", "+", "fsdp", "mixed", "kept", "nested"]
ALL = FEW + (MORE if os.environ.get("TAPELENS_TEST_ALL") else [])


def command(words):
    return [harness.PYTHON, PROGRAM, *words]


def lines(run):
    """The processes may print in any order."""
    return sorted(run.stdout.splitlines())


def test_rewrites_change_no_bit_of_any_rank():
    bare = harness.in_order(lambda: harness.bare(command(ALL)))
    run = harness.in_order(lambda: harness.bare([harness.BINARY, "run", "--apply", "bitwise", "--", *command(ALL)]))
    assert (run.code, lines(run)) == (0, lines(bare)), run.stderr
    assert len(lines(run)) == 2 * (ALL.count("+") + 1)
    assert [line for line in run.stderr.splitlines() if line not in bare.stderr.splitlines()] == run.stderr.splitlines()[-1:]
    assert run.stderr.splitlines()[-1].startswith("tapelens: rewrote ")
    assert "an error inside Tapelens" not in run.stderr


def test_verify_compares_each_rank_with_itself_and_what_shards_consist_of(tmp_path):
    verdict = tmp_path / "verdict.json"
    verify = [harness.BINARY, "verify", "--apply", "bitwise", "--format", "json", "-o", verdict, "--", *command(FEW)]
    harness.in_order(lambda: harness.bare(verify))
    said = json.loads(verdict.read_text())
    assert said["verdict"] == "identical"
    ranks, steps, blocks = 2, 3, 3
    losses = 4 * ranks * steps
    parameters = ranks * steps * blocks * (5 + 12 + 4 + 5)  # of Gated twice, of Transformer and of Dense
    assert said["compared"] == {"steps": steps, "losses": losses, "gradients": parameters, "parameters": parameters}
    assert said["not_compared"] == {"gradients": 0, "parameters": 0}


def test_what_a_stage_of_a_pipeline_receives_is_communication(target):
    run = harness.in_order(lambda: harness.record(harness.torchrun(harness.CASES / "pipeline.py"), target, ["--force"]))
    assert "tapelens" not in run.stderr
    second = next(process["pid"] for process in harness.report(target)["processes"] if process["rank"] == 1)
    peak = harness.report(target, ["--process", str(second)])["peak"]
    received = [a for a in peak["allocations"] if any("/torch/distributed/pipelining/" in frame["file"] for frame in a["stack"][:1])
                and a["bytes"] == 64 * 48 * 4]
    holders = {(holder["kind"], holder["name"]) for a in received for holder in a["holders"] if holder["kind"] != "save"}
    assert received and holders <= {("communication", "pipeline"), ("operator", "c10d::recv_")}
    assert {a["bytes"] for a in peak["allocations"] for holder in a["holders"]
            if holder["kind"] == "parameter"} == {48 * 48 * 4, 48 * 4}
