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
