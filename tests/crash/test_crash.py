"""Programs that die in the middle of a backward, 50 times with `scripts/test --all`: the recording has every iteration
that had ended before."""

import contextlib
import os
import pathlib
import random
import signal
import subprocess
import time

import pytest

import harness

ENDLESS = pathlib.Path(__file__).parent / "cases/endless.py"
CGROUPS = [pathlib.Path("/sys/fs/cgroup/memory"), pathlib.Path("/sys/fs/cgroup")]
KILLS, ABORTS, SEGFAULTS, LIMITS, GROUPS = 14, 12, 12, 6, 6
IN_BACKWARD = []  # for each death: whether it was in a backward


def steps_of(progress):
    words = [line.split() for line in progress.read_text().splitlines()]
    ended = [int(w[1]) for w in words if w[0] == "ended"]
    begun = [int(w[1]) for w in words if w[0] == "backward"]
    IN_BACKWARD.append(len(begun) > len(ended))
    return ended


def check(report, progress):
    """The recording has each iteration that the program logged as ended, with its end and all its allocations."""
    ended = steps_of(progress)
    assert len(ended) > 2
    ranges = {r["name"]: r for r in report["ranges"] if r["name"].startswith("mark-")}
    missing = [n for n in ended if f"mark-{n}" not in ranges]
    assert missing == [], f"{len(missing)} of {len(ended)} iterations that had ended are lost"
    whole = [ranges[f"mark-{n}"] for n in ended]
    assert all(r["end_ns"] > r["begin_ns"] for r in whole)
    assert len({r["allocations"] for r in whole[2:]}) == 1, "iterations differ in their allocations"
    assert report["saves"]["unattributed"] == 0
    kinds = {loss["kind"] for loss in report["recording"]["lost"] if loss["count"]}
    assert kinds <= {"truncated_spool"}, kinds


def died(command, target, progress, env=None):
    run = harness.record(command, target, env=env)
    report = harness.report(target)
    assert not report["recording"]["complete"]
    check(report, progress)
    return run


def wait_for(progress, text, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        if progress.exists() and text in progress.read_text():
            return
        time.sleep(0.005)
    raise AssertionError(f"no '{text}' in time, exit code {process.poll()}")


def pid_of(progress):
    return int(progress.read_text().split()[1])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", range(KILLS))
def test_killed(number, target, tmp_path):
    progress = tmp_path / "progress"
    command = [str(c) for c in harness.recording([harness.PYTHON, ENDLESS, progress, "wait"], target)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=harness.environment()) as process:
        wait_for(progress, "ended 2\n", process)
        time.sleep(random.uniform(0, 0.6))
        os.kill(pid_of(progress), signal.SIGKILL)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGKILL
    report = harness.report(target)
    assert not report["recording"]["complete"]
    check(report, progress)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(ABORTS))
def test_aborted(number, target, tmp_path):
    run = died([harness.PYTHON, ENDLESS, tmp_path / "progress", "abort"], target, tmp_path / "progress")
    assert run.code == 128 + signal.SIGABRT


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(SEGFAULTS))
def test_segfaulted(number, target, tmp_path):
    run = died([harness.PYTHON, ENDLESS, tmp_path / "progress", "segfault"], target, tmp_path / "progress")
    assert run.code == 128 + signal.SIGSEGV


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(LIMITS))
def test_out_of_address_space(number, target, tmp_path):
    """`ulimit -v`: PyTorch throws in any operator when malloc fails, and Python ends with a traceback."""
    progress = tmp_path / "progress"
    limit = 4_500_000 + 50_000 * number  # KiB: libtorch alone maps several GiB
    shell = f'ulimit -v {limit} && exec "$0" "$@"'
    run = harness.record(["sh", "-c", shell, harness.PYTHON, ENDLESS, progress, "grow"], target)
    assert run.code != 0 and "finished" not in run.stdout
    assert "memory" in run.stderr.lower() or run.code > 128, run.stderr
    check(harness.report(target), progress)


@contextlib.contextmanager
def memory_group(mebibytes):
    """A cgroup (v1 or v2) with a memory limit. Skips the test, with a message, if it cannot make one."""
    for root in CGROUPS:
        group = root / f"tapelens-test-{os.getpid()}"
        limits = [group / "memory.limit_in_bytes", group / "memory.max"]
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            present = [limit for limit in limits if limit.exists()]
            if present:
                present[0].write_text(str(mebibytes << 20))
                yield group
                return
        finally:
            for _ in range(50):
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.1)
    pytest.skip("no memory cgroup can be made here (not root, or no memory controller)")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("number", range(GROUPS))
def test_killed_by_the_memory_limit_of_a_cgroup(number, target, tmp_path):
    progress = tmp_path / "progress"
    with memory_group(700 + 50 * number) as group:
        shell = f'echo $$ > {group}/cgroup.procs && exec "$0" "$@"'
        run = harness.record(["sh", "-c", shell, harness.PYTHON, ENDLESS, progress, "grow"], target)
    assert run.code == 128 + signal.SIGKILL, run
    check(harness.report(target), progress)


def test_most_of_the_deaths_were_in_the_middle_of_a_backward():
    if len(IN_BACKWARD) < 20:
        pytest.skip("needs the tests above, in one run")
    share = sum(IN_BACKWARD) / len(IN_BACKWARD)
    print(f"{len(IN_BACKWARD)} deaths, {share:.0%} of them inside a backward")
    assert share > 0.2


@pytest.mark.parametrize("program_too", [False, True])
def test_the_recorder_itself_killed_and_sealed_by_hand(program_too, target, tmp_path):
    progress = tmp_path / "progress"
    command = [str(c) for c in harness.recording([harness.PYTHON, ENDLESS, progress, "wait", "400"], target)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=harness.environment(),
                          start_new_session=True) as process:
        wait_for(progress, "ended 2\n", process)
        process.kill()
        process.wait()
        if program_too:
            time.sleep(random.uniform(0, 0.3))
            os.kill(pid_of(progress), signal.SIGKILL)
            time.sleep(0.5)
        else:
            end = time.monotonic() + 60
            while "finished" not in progress.read_text() and time.monotonic() < end:
                time.sleep(0.05)
            assert "finished" in progress.read_text(), "the program did not outlive its recorder"
            time.sleep(1)
    assert not target.exists()
    sealed = harness.bare([harness.BINARY, "seal", f"{target}.spool", "-o", target])
    assert sealed.code == 0, sealed.stderr
    report = harness.report(target)
    check(report, progress)
    assert report["recording"]["complete"] == (not program_too)
