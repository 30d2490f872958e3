"""Rewrites free tensors early and allocate them again. Their memory waits for that (profiler/heap), instead of a return to
the system, after which the kernel would fill each page with zeros. The program's peak does not grow."""

import pytest

import harness

PROGRAM = [harness.PYTHON, harness.CASES / "freed_blocks.py", 8]
RUN = [harness.BINARY, "run", "--quiet", "--apply", "bitwise", "--"]


def run(*prefix):
    """The losses, the page faults of four steps, and the highest resident memory in MiB."""
    done = harness.bare([*prefix, *PROGRAM], check=True)
    faults, resident = map(int, done.stderr.split())
    return done.stdout, faults, resident


def test_the_memory_of_freed_tensors_is_not_faulted_in_anew():
    bare, rewritten = run(), run(*RUN)
    assert rewritten[0] == bare[0]
    print(f"page faults {bare[1]} bare, {rewritten[1]} rewritten; resident {bare[2]} and {rewritten[2]} MiB")
    assert rewritten[1] <= bare[1] * 1.1 + 500, (bare[1], rewritten[1])
    assert rewritten[2] <= bare[2] + 8, (bare[2], rewritten[2])


@pytest.mark.parametrize("limit", ["-v 30000000", "-d 30000000"])
def test_a_process_with_a_limit_keeps_nothing(limit):
    """Memory that waits would count towards the limit."""
    shell = ["bash", "-c", f'ulimit {limit}; exec "$@"', "bash"]
    bare, rewritten = run(*shell), run(*shell, *RUN)
    assert rewritten[0] == bare[0]
    with_none = run(*RUN)
    assert rewritten[1] > with_none[1], "the memory of freed tensors waits despite the limit"
