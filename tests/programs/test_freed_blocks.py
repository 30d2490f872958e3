"""Rewrites free tensors early and allocate them again. Their memory waits for that (profiler/heap), instead of a return to
the system, after which the kernel would fill each page with zeros. The program's peak does not grow."""

import pytest

import harness

PROGRAM = [harness.PYTHON, harness.CASES / "freed_blocks.py"]
RUN = [harness.BINARY, "run", "--quiet", "--apply", "bitwise", "--"]


def run(*prefix):
    """The losses, the page faults of four steps, and the highest resident memory in MiB."""
    done = harness.bare([*prefix, *PROGRAM, 8], check=True)
    faults, resident = map(int, done.stderr.split())
    return done.stdout, faults, resident


def test_the_memory_of_freed_tensors_is_not_faulted_in_anew():
    bare, rewritten = run(), run(*RUN)
    assert rewritten[0] == bare[0]
    print(f"page faults {bare[1]} bare, {rewritten[1]} rewritten; resident {bare[2]} and {rewritten[2]} MiB")
    assert rewritten[1] <= bare[1] * 1.1 + 500, (bare[1], rewritten[1])
    assert rewritten[2] <= bare[2] + 8, (bare[2], rewritten[2])


def waits(*prefix):
    return harness.bare([*prefix, *PROGRAM, 0], check=True).stdout.strip() == "True"


def test_a_freed_block_waits_only_under_run(target):
    assert waits(*RUN)
    assert not waits()
    assert not waits(harness.BINARY, "record", "--quiet", "--apply", "bitwise", "-o", target, "--")


@pytest.mark.parametrize("limit", ["-v 30000000", "-d 30000000"])
def test_nothing_waits_in_a_process_with_a_limit(limit):
    """It would count towards the limit."""
    assert not waits("bash", "-c", f'ulimit {limit}; exec "$@"', "bash", *RUN)
