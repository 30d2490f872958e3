"""`tapelens attach PID`: records a program that already runs. Python 3.14 and newer can be attached to (scripts/try-python
runs these tests with it); other programs get one line that says why not."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

import harness

PROGRAM = harness.CASES / "attach_to.py"
STEPS = 250


def version():
    text = subprocess.run([harness.PYTHON, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True,
                          text=True, check=True).stdout
    return tuple(int(word) for word in text.split())


VERSION = version()
can_attach = pytest.mark.skipif(VERSION < (3, 14), reason="CPython loads code into a running program from 3.14 on")


def started(tmp_path, *arguments, env=None):
    """The running program, its pid and its own count of live bytes."""
    ready = tmp_path / "ready"
    program = subprocess.Popen([harness.PYTHON, str(PROGRAM), str(ready), *map(str, arguments)],
                               env=harness.environment(env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 120
    while not ready.exists():
        assert program.poll() is None and time.monotonic() < end, program.communicate()
        time.sleep(0.02)
    pid, live = ready.read_text().split()
    return program, int(pid), int(live)


def attach(pid, *options, **kwargs):
    return harness.bare([harness.BINARY, "attach", pid, *options], **kwargs)


def refusal(pid, *options):
    run = attach(pid, *options)
    assert run.code == 3, run
    assert run.stdout == ""
    line = run.stderr.splitlines()
    assert len(line) == 1, run.stderr
    return line[0]


def report(file):
    return json.loads(harness.bare([harness.BINARY, "report", "--format", "json", file], check=True).stdout)


def tables(file, tmp_path):
    """Rows of the recording in SQLite."""
    database = tmp_path / (file.name + ".db")
    harness.bare([harness.BINARY, "export", "--format", "sqlite", "--force", "-o", database, file], check=True)
    return sqlite3.connect(database)


def saves_of_step(rows, step):
    """Their nodes and fields, in order."""
    return rows.execute("select node, field, layout from saves join steps on saved_ns between begin_ns and end_ns "
                        "where steps.step = ? order by saved_ns", (step,)).fetchall()


def operators_of_step(rows, step):
    return rows.execute("select name from operators join steps on operators.begin_ns between steps.begin_ns and "
                        "steps.end_ns where steps.step = ? order by operators.begin_ns", (step,)).fetchall()


# ---- programs that cannot be attached to

def test_no_such_process(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    assert refusal(process.pid, "-o", tmp_path / "a.tapelens") == f"tapelens: pid {process.pid}: no such process"


def test_no_python(tmp_path):
    process = subprocess.Popen(["sleep", "60"])
    try:
        said = refusal(process.pid, "-o", tmp_path / "a.tapelens")
        assert "is not a Python program: it runs " in said and said.endswith("/sleep")
    finally:
        process.kill()
        process.wait()
    assert not list(tmp_path.iterdir())


def test_an_older_python(tmp_path):
    if sys.version_info >= (3, 14):
        pytest.skip("this Python can be attached to")
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(0.3)
        said = refusal(process.pid, "-o", tmp_path / "a.tapelens")
        assert f"runs Python {sys.version_info[0]}.{sys.version_info[1]}, " in said
        assert "tapelens record --on-demand" in said and "tapelens.flight_recorder()" in said
    finally:
        process.kill()
        process.wait()
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_another_user(tmp_path):
    process = subprocess.Popen(["sleep", "60"], user=65534)
    try:
        assert "belongs to another user" in refusal(process.pid, "-o", tmp_path / "a.tapelens")
    finally:
        process.kill()
        process.wait()


def test_a_program_that_tapelens_started(tmp_path):
    words = harness.recording([sys.executable, PROGRAM, tmp_path / "ready", 200], tmp_path / "run.tapelens")
    recorder = subprocess.Popen([str(word) for word in words], env=harness.environment(), stdout=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 120
        while not (tmp_path / "ready").exists():
            assert recorder.poll() is None and time.monotonic() < end
            time.sleep(0.02)
        pid = (tmp_path / "ready").read_text().split()[0]
        assert "was started by Tapelens" in refusal(pid, "-o", tmp_path / "a.tapelens")
    finally:
        recorder.terminate()
        recorder.wait()


def test_usage():
    assert attach("0").code == 2
    assert attach("1", "--steps", "0").code == 2
    assert attach("1", "--steps", "1", "--for", "1s").code == 2


# ---- Python 3.14

@can_attach
def test_without_pytorch(tmp_path):
    process = subprocess.Popen([harness.PYTHON, "-c", "import time; print(1, flush=True); time.sleep(60)"],
                               stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        assert "has not imported PyTorch" in refusal(process.pid, "-o", tmp_path / "a.tapelens")
    finally:
        process.kill()
        process.wait()


@can_attach
def test_remote_debugging_is_off(tmp_path):
    program, pid, _ = started(tmp_path, STEPS, env={"PYTHON_DISABLE_REMOTE_DEBUG": "1"})
    try:
        assert "does not accept code from outside" in refusal(pid, "-o", tmp_path / "a.tapelens")
        assert not (tmp_path / "a.tapelens.spool").exists()
    finally:
        program.kill()
        program.communicate()


@can_attach
def test_without_a_probe(tmp_path):
    """A Tapelens that has no probe for the program's PyTorch."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "lib/tapelens").mkdir(parents=True)
    shutil.copy(harness.BINARY, tmp_path / "bin/tapelens")
    shutil.copy(harness.INJECT, tmp_path / "lib/tapelens")
    program, pid, _ = started(tmp_path, 60)
    run = harness.bare([tmp_path / "bin/tapelens", "attach", pid, "-o", tmp_path / "a.tapelens"])
    assert run.code == 3 and "no probe for PyTorch" in run.stderr and run.stderr.count("\n") == 1, run
    assert program.communicate()[1] == "" and program.returncode == 7
    assert not (tmp_path / "a.tapelens.spool").exists()


@can_attach
def test_only_memory_until_a_step_ends(tmp_path):
    program, pid, _ = started(tmp_path, STEPS, "pause")
    file = tmp_path / "a.tapelens"
    run = attach(pid, "--for", "0.3s", "-o", file)
    program.kill()
    program.communicate()
    assert run.code == 0, run
    lost = report(file)["recording"]["lost"]
    assert lost[0]["kind"] == "before_attach" and "no step ended afterwards" in lost[0]["message"], lost


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone")
    return harness.bare([harness.PYTHON, PROGRAM, folder / "ready", STEPS])


@can_attach
def test_steps_twice(tmp_path, alone):
    program, pid, live = started(tmp_path, STEPS)
    files = [tmp_path / "one.tapelens", tmp_path / "two.tapelens"]
    for file in files:
        run = attach(pid, "--steps", 3, "-o", file)
        assert run.code == 0, run
        assert "Next: tapelens report" in run.stderr, run.stderr
    out, err = program.communicate()
    assert (program.returncode, out, err) == alone.said()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.tapelens", "ready", "two.tapelens"]

    whole = tmp_path / "whole.tapelens"
    harness.record([harness.PYTHON, PROGRAM, tmp_path / "ready2", 8], whole)
    normal = tables(whole, tmp_path)
    for file in files:
        rows = tables(file, tmp_path)
        for step in (1, 2, 3):
            assert saves_of_step(rows, step) == saves_of_step(normal, 5) != [], step
            assert operators_of_step(rows, step) == operators_of_step(normal, 5) != [], step
        found = report(file)
        lost = {one["kind"]: one for one in found["recording"]["lost"]}
        assert set(lost) == {"before_attach"}, lost


@can_attach
def test_older_tensors(tmp_path):
    program, pid, live = started(tmp_path, STEPS)
    file = tmp_path / "a.tapelens"
    assert attach(pid, "--steps", 2, "-o", file).code == 0
    program.kill()
    program.communicate()
    rows = tables(file, tmp_path)
    blocks = report(file)["recording"]["lost"][0]["count"]
    first = rows.execute("select bytes, operator, stack_id from allocations where owned order by allocated_ns, id "
                         "limit ?", (blocks,)).fetchall()
    assert {(operator, stack) for _, operator, stack in first} <= {(None, None), (None, 0)}, first
    found = sum(row[0] for row in first)
    # The step of that moment adds its input, activations and gradients.
    parameters = 4 * (64 * 256 + 256 + 256 * 256 + 256 + 256 * 10 + 10)
    assert live - 4096 <= found <= live + parameters + 32 * 4 * (64 + 4 * 256), (found, live)
    assert blocks >= 3 * 6 + 1
    names = {row[0] for row in rows.execute("select name from peak")}
    assert {"0.weight", "4.bias"} <= names, names
    categories = dict(rows.execute("select category, count(*) from peak group by category"))
    assert categories["parameter"] == 6 and categories["optimizer_state"] == 18, categories


@can_attach
@pytest.mark.parametrize("way", ["time", "interrupt"])
def test_ends_while_the_program_runs_on(tmp_path, alone, way):
    program, pid, _ = started(tmp_path, STEPS)
    file = tmp_path / "a.tapelens"
    if way == "time":
        run = attach(pid, "--for", "0.5s", "-o", file)
    else:
        command = [str(harness.BINARY), "attach", str(pid), "-o", str(file)]
        attached = subprocess.Popen(command, env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
        assert f"recording pid {pid} into " in attached.stderr.readline()
        time.sleep(0.5)
        attached.send_signal(signal.SIGINT)
        out, err = attached.communicate()
        run = harness.Run(attached.returncode, out, err)
    assert run.code == 0, run
    out, err = program.communicate()
    assert (program.returncode, out, err) == alone.said()
    assert saves_of_step(tables(file, tmp_path), 1)
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".db") == ["a.tapelens", "ready"]


@pytest.mark.parametrize("gil, left", [(True, "0 0"), (False, "1 1")])
def test_under_free_threading_no_frame_is_read_at_the_end(gil, left):
    """The frames of running threads cannot be read there. Runs with every Python."""
    run = harness.bare([harness.PYTHON, harness.CASES / "take_back.py", str(gil)], check=True)
    assert run.stdout == f"read {gil}, hooks {left}, called 0\n"


@can_attach
def test_the_program_ends_first(tmp_path):
    program, pid, _ = started(tmp_path, 60)
    file = tmp_path / "a.tapelens"
    assert attach(pid, "-o", file).code == 0
    out, _ = program.communicate()
    assert program.returncode == 7
    assert "hooks" in out
    assert report(file)["processes"][0]["exit_code"] == 7


@can_attach
def test_a_program_without_optimizer(tmp_path):
    program, pid, _ = started(tmp_path, STEPS, "inference")
    file = tmp_path / "a.tapelens"
    assert attach(pid, "--for", "0.5s", "-o", file).code == 0
    out, err = program.communicate()
    assert program.returncode == 7 and err == ""
    assert tables(file, tmp_path).execute("select count(*) from operators").fetchone()[0] > 100


@can_attach
def test_two_at_once(tmp_path):
    program, pid, _ = started(tmp_path, STEPS)
    first = subprocess.Popen([str(harness.BINARY), "attach", str(pid), "-o", str(tmp_path / "a.tapelens")],
                             env=harness.environment(), stderr=subprocess.PIPE, text=True)
    assert "recording pid" in first.stderr.readline()
    time.sleep(0.5)
    assert "is recorded already" in refusal(pid, "-o", tmp_path / "b.tapelens")
    first.send_signal(signal.SIGINT)
    assert first.communicate()[1].startswith("tapelens: peak "), first.returncode
    assert first.returncode == 0
    program.kill()
    program.communicate()
