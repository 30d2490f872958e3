"""Recording several threads at once loses no event."""

import harness

THREADS, ROUNDS = 4, 20000


def test_four_threads_at_once_lose_nothing(target):
    program = [harness.PYTHON, harness.CASES / "threads.py", str(THREADS), str(ROUNDS)]
    _, report = harness.record_and_report(program, target, timeout=300)
    assert report["recording"]["lost"] == []
    (region,) = [r for r in report["ranges"] if r["name"] == "all threads"]
    assert region["allocations"] == THREADS * ROUNDS
    assert region["allocated_bytes"] == THREADS * ROUNDS * 64
    assert report["saves"]["count"] == THREADS * ROUNDS
    assert report["saves"]["unattributed"] == 0
    (field,) = report["saves"]["by_field"]
    assert (field["field"], field["count"]) == ("MulBackward0.other", THREADS * ROUNDS)
    (device,) = report["processes"][0]["devices"]
    assert device["allocations"] == device["frees"]


def test_recordings_of_threads_that_copy_can_be_read(target):
    for threads in (2, 3, 5, 8):
        rounds = 240 // threads
        program = [harness.PYTHON, harness.CASES / "copying_threads.py", str(threads), str(rounds)]
        _, report = harness.record_and_report(program, target, timeout=300)
        assert report["recording"]["lost"] == []
        # The source of a clone, and the cloned part of it, follow from the operator's inputs.
        found = harness.advise(target, ["--check", "trivial-concat", "--min-bytes", "1024"])["findings"]
        assert sum(finding["occurrences"] for finding in found) == 3 * threads * rounds
        target.unlink()


AT_ONCE = [harness.PYTHON, harness.CASES / "steps_at_once.py", "4"]


def test_four_optimizers_that_step_at_once_have_four_names(target):
    """One of them gives the steps, of which each makes two."""
    run, report = harness.record_and_report(AT_ONCE, target, quiet=False)
    assert "inside Tapelens" not in run.stderr
    assert [step["index"] for step in report["steps"] if step["complete"]] == [0, 1]


def test_of_four_first_steps_at_once_one_writes_its_gradients(target, tmp_path):
    folder = tmp_path / "values"
    folder.mkdir()
    run = harness.record(["env", f"TAPELENS_VALUES={folder}", *AT_ONCE], target, quiet=False, check=True)
    assert "inside Tapelens" not in run.stderr
    (written,) = folder.iterdir()
    assert written.suffix == ".values" and written.read_bytes().endswith(b"end\n")
    assert written.read_bytes().count(b'"name"') == 2  # a weight and a bias
