"""`tapelens record --on-demand` and `tapelens dump`: recordings of the last steps of a program that runs on. The program
behaves as without them, and a run without an event leaves no file."""

import json
import os
import pathlib
import re
import signal
import subprocess
import threading
import time

import pytest

import harness
import test_fit
from python_package import ENVIRONMENT

STEPS = harness.CASES / "on_demand.py"
RAN_OUT = harness.CASES / "ran_out.py"
GPU = "H100:160MiB"
REQUEST = 512 << 20
MIB = 1 << 20
CHUNK = 8 * MIB  # by which a spool grows
HANDLERS = "handlers 0 0 set()\n"  # of SIGUSR1 and SIGUSR2, and the blocked signals

has_gpu = test_fit.pytestmark


def until(is_so, what, process=None):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        if value := is_so():
            return value
        assert process is None or process.poll() is None, f"ended with {process.poll()} before {what}"
        time.sleep(0.02)
    raise AssertionError(f"{what}: not in time")


def armed(command, target, options=()):
    words = [str(word) for word in harness.recording(command, target, ["--on-demand", *options], quiet=False)]
    return subprocess.Popen(words, env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def waiting(progress, process):
    """The pid of the program, once it waits."""
    until(lambda: progress.exists() and progress.read_text().startswith("waits"), "the step", process)
    return int(progress.read_text().split()[1])


def messages(err):
    return [line for line in err.splitlines() if line.startswith("tapelens: ")]


def rest(err):
    return [line for line in err.splitlines() if not line.startswith("tapelens: ")]


def dump(pid, code=0):
    run = harness.bare([harness.BINARY, "dump", str(pid)])
    assert run.code == code, run.stderr
    return run


def numbers(report):
    return [step["index"] for step in report["steps"]]


def left(folder):
    return sorted(path.name for path in folder.iterdir() if ".tapelens" in path.name)


def test_signals_and_dumps_make_recordings_while_the_program_runs(target, tmp_path):
    progress = tmp_path / "progress"
    command = [harness.PYTHON, STEPS, progress, 900, 700, "raise"]
    (tmp_path / "progress.go").touch()
    bare = harness.bare(command)
    (tmp_path / "progress.go").unlink()
    progress.unlink()

    process = armed(command, target)
    pid = waiting(progress, process)
    second = target.with_name("run.2.tapelens")
    for file in (target, second):
        process.send_signal(signal.SIGUSR2)
        until(file.exists, file.name, process)
    asked = [dump(pid).stdout, dump(process.pid).stdout, dump(os.getpid()).stdout]
    assert asked == [f"{tmp_path}/run.{number}.tapelens\n" for number in (3, 4, 5)]
    assert process.poll() is None
    (tmp_path / "progress.go").touch()
    out, err = process.communicate(timeout=120)

    assert (process.returncode, out, rest(err)) == (bare.code, bare.stdout, bare.stderr.splitlines())
    assert out.startswith(HANDLERS)
    assert left(tmp_path) == ["run.2.tapelens", "run.3.tapelens", "run.4.tapelens", "run.5.tapelens", "run.tapelens"]
    said = messages(err)
    assert [line.split(":")[1].strip() for line in said] == ["recorded at SIGUSR2"] * 2 + ["recorded at tapelens dump"] * 3
    assert all("killed" not in line for line in said)
    for file in (target, second):
        report = harness.report(file)
        assert numbers(report)[:3] == [698, 699, 700]
        assert all(step["complete"] for step in report["steps"][:3])
        assert harness.unexplained(report) == []
        ranks = json.loads(harness.bare([harness.BINARY, "ranks", file, "--format", "json"], check=True).stdout)
        assert [rank["end"] for rank in ranks["ranks"]] == ["still running"] and not ranks["ended_badly"]


KILLED = """
import os, subprocess, sys, time, torch
is_rank_1 = len(sys.argv) > 2
os.environ["RANK"] = str(int(is_rank_1))
torch.ones(1000) * 2
if is_rank_1:
    os.kill(os.getpid(), 9)
rank = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[1], "1"])
while open(f"/proc/{rank.pid}/stat").read().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.01)
print(os.getpid(), flush=True)
sys.stdin.readline()
"""


def test_a_killed_process_that_its_parent_did_not_wait_for_has_died(target):
    process = subprocess.Popen([str(word) for word in harness.recording([harness.PYTHON, "-c", KILLED, KILLED], target, ["--on-demand"])],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=harness.environment())
    dump(int(process.stdout.readline()))
    ranks = json.loads(harness.bare([harness.BINARY, "ranks", target, "--format", "json"], check=True).stdout)
    assert [rank["end"] for rank in ranks["ranks"]] == ["still running", "died"]
    process.communicate("\n", timeout=120)
    assert process.returncode == 0


def test_without_an_event_there_is_no_file(target, tmp_path):
    command = [harness.PYTHON, STEPS, tmp_path / "progress", 50]
    bare = harness.bare(command)
    run = harness.record(command, target, ["--on-demand"], quiet=False)
    assert (run.code, run.stdout, rest(run.stderr)) == (0, bare.stdout, bare.stderr.splitlines())
    assert messages(run.stderr) == ["tapelens: no recording was made: none of its events happened (--on oom,SIGUSR2, tapelens dump)"]
    assert left(tmp_path) == []
    quiet = harness.record(command, target, ["--on-demand", "--on", "none"])
    assert quiet.said() == bare.said() and left(tmp_path) == []


def test_a_signal_that_is_no_event_reaches_the_program(target, tmp_path):
    progress = tmp_path / "progress"
    process = armed([harness.PYTHON, STEPS, progress, 20, 10], target, ["--on", "oom,SIGUSR1"])
    waiting(progress, process)
    process.send_signal(signal.SIGUSR1)
    until(target.exists, "the recording", process)
    process.send_signal(signal.SIGUSR2)
    process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGUSR2


def test_the_program_is_killed_after_its_recording(target, tmp_path):
    progress = tmp_path / "progress"
    process = armed([harness.PYTHON, STEPS, progress, 100, 50, "kill"], target)
    waiting(progress, process)
    process.send_signal(signal.SIGUSR2)
    (tmp_path / "progress.go").touch()
    process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGKILL
    assert left(tmp_path) == ["run.tapelens"]
    assert numbers(harness.report(target))[:3] == [48, 49, 50]


def test_nothing_is_replaced(target, tmp_path):
    target.write_text("a user's file")
    progress = tmp_path / "progress"
    process = armed([harness.PYTHON, STEPS, progress, 20, 10], target)
    waiting(progress, process)
    dump(process.pid)
    (tmp_path / "progress.go").touch()
    process.communicate(timeout=120)
    assert target.read_text() == "a user's file"
    assert left(tmp_path) == ["run.2.tapelens", "run.tapelens"]


def test_a_killed_recorder_does_not_stop_the_next_run(target, tmp_path):
    progress = tmp_path / "progress"
    command = [harness.PYTHON, STEPS, progress, 20, 10]
    first = armed(command, target)
    pid = waiting(progress, first)
    second = armed([*command[:2], tmp_path / "second", 20, 10], target)  # at the same time, with the same name
    dump(waiting(tmp_path / "second", second))
    first.kill()
    os.kill(pid, signal.SIGKILL)
    first.wait()
    assert re.search(r": (no such process|has ended)$", dump(pid, 3).stderr)
    (tmp_path / "second.go").touch()
    _, err = second.communicate(timeout=120)
    assert second.returncode == 0 and "recorded at tapelens dump" in err

    (tmp_path / "progress.go").touch()
    third = harness.record(command, target, ["--on-demand"], quiet=False)
    assert third.code == 0
    assert f"{target}.spool holds the last steps of a run that was killed. Keep them: tapelens seal" in third.stderr
    kept = tmp_path / "kept.tapelens"
    harness.bare([harness.BINARY, "seal", f"{target}.spool", "-o", kept, "--remove"], check=True)
    assert numbers(harness.report(kept))[-1] == 10
    assert left(tmp_path) == ["kept.tapelens", "run.tapelens"]


def test_what_cannot_be_dumped_has_a_reason(target, tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        assert "is not recorded: start its program with `tapelens record --on-demand" in dump(other.pid, 3).stderr
        other.kill()
    assert "no such process" in dump(2**22 + 1, 3).stderr
    progress = tmp_path / "progress"
    words = [str(word) for word in harness.recording([harness.PYTHON, STEPS, progress, 20, 10], target)]
    with subprocess.Popen(words, env=harness.environment(), stdout=subprocess.PIPE, text=True) as process:
        pid = waiting(progress, process)
        assert "is recorded without --on-demand" in dump(pid, 3).stderr
        (tmp_path / "progress.go").touch()
        process.communicate(timeout=120)
    for options, said in [(["--on-demand", "--steps", "1:"], "excludes"), (["--on", "oom"], "requires --on-demand"),
                          (["--on-demand", "--on", "oom,SIGHUP"], "is not a list of oom, SIGUSR1 and SIGUSR2, or none"),
                          (["--on-demand", "-o", "-"], "--on-demand makes files")]:
        run = harness.bare([harness.BINARY, "record", *options, "--", "true"])
        assert run.code == 2 and said in run.stderr and run.stderr.count("\n") == 1, run.stderr


# ---- out of memory

def request_of(report):
    process, = report["processes"]
    failed, = process["out_of_memory"]
    return failed


def without_numbers(text):
    return re.sub(r"\d+(\.\d+)?", "N", text)


@has_gpu
def test_out_of_memory(target, tmp_path):
    command = [harness.PYTHON, RAN_OUT, 40]
    bare = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", GPU, "--", *command])
    run = harness.record(command, target, ["--on-demand", "--gpu", GPU], quiet=False)
    assert bare.code == run.code == 1 and "torch.OutOfMemoryError: CUDA out of memory" in run.stderr
    assert without_numbers("\n".join(rest(run.stderr))) == without_numbers(bare.stderr.rstrip("\n"))
    said, = messages(run.stderr)
    assert "recorded at an out of memory: " in said and "out of memory from step 37 on" in said
    report = harness.report(target)
    assert request_of(report)["bytes"] == REQUEST
    assert numbers(report)[:3] == [37, 38, 39]
    at = harness.bare([harness.BINARY, "report", target, "--at", "oom"])
    assert "cuda:0 had no 512.0 MiB for aten::empty" in " ".join(at.stdout.split()) and "ran_out.py" in at.stdout
    assert left(tmp_path) == ["run.tapelens"]


@has_gpu
def test_the_program_dies_as_soon_as_it_has_the_exception(target, tmp_path):
    run = harness.record([harness.PYTHON, RAN_OUT, 5, "kill"], target, ["--on-demand", "--gpu", GPU, "--last", "2"])
    assert run.code == 128 + signal.SIGKILL
    report = harness.report(target)
    assert request_of(report)["bytes"] == REQUEST and numbers(report)[:2] == [3, 4]


@has_gpu
def test_the_number_of_recordings_is_limited(target, tmp_path):
    run = harness.record([harness.PYTHON, RAN_OUT, 5, "retry"], target, ["--on-demand", "--gpu", GPU, "--max-dumps", "1"], quiet=False)
    assert run.code == 0 and run.stdout == "done\n"
    assert left(tmp_path) == ["run.tapelens"]
    assert run.stderr.count("recorded at") == 1
    assert run.stderr.count("the limit of --max-dumps") <= 1


@has_gpu
def test_the_variables_of_the_failed_request(target):
    run = harness.record([harness.PYTHON, RAN_OUT, 5], target, ["--on-demand", "--referrers", "--gpu", GPU])
    assert run.code == 1
    assert request_of(harness.report(target))["bytes"] == REQUEST


def check_ranks(run, folder, bare):
    assert run.code == bare.code == 1
    assert len(re.findall(r"^(\[rank\d\]: *)?torch.OutOfMemoryError", run.stderr, re.MULTILINE)) == \
        len(re.findall(r"^(\[rank\d\]: *)?torch.OutOfMemoryError", bare.stderr, re.MULTILINE)) == 2
    host = os.uname().nodename
    assert left(folder) == [f"oom-{host}-{rank}.tapelens" for rank in (0, 1)]
    for rank in (0, 1):
        report = harness.report(folder / f"oom-{host}-{rank}.tapelens")
        assert report["processes"][0]["rank"] == rank
        assert request_of(report)["bytes"] == REQUEST
        assert numbers(report)[:3] == [3, 4, 5]


@has_gpu
def test_two_ranks_of_torchrun_leave_a_recording_each(tmp_path):
    options = ["--on-demand", "--gpu", GPU]
    bare = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", GPU, "--", *harness.torchrun(RAN_OUT, 6)])
    run = harness.record(harness.torchrun(RAN_OUT, 6), tmp_path / "oom-%h-%r.tapelens", options)
    check_ranks(run, tmp_path, bare)


@has_gpu
def test_a_recorder_for_each_rank(tmp_path):
    bare = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", GPU, "--", *harness.torchrun(RAN_OUT, 6)])
    recorded = harness.recording([harness.PYTHON, RAN_OUT, "6"], tmp_path / "oom-%h-%r.tapelens", ["--on-demand", "--gpu", GPU])
    check_ranks(harness.bare(harness.torchrun("--no-python", *recorded)), tmp_path, bare)


# ---- tapelens.flight_recorder()

AGAIN = harness.CASES / "starts_again.py"


def test_a_program_starts_again_under_the_recorder(target, tmp_path):
    progress = tmp_path / "progress"
    words = [harness.PYTHON, str(AGAIN), "on_demand.py", str(target), str(progress), "60", "50", "raise"]
    with subprocess.Popen(words, env=harness.environment(ENVIRONMENT), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        waiting(progress, process)
        process.send_signal(signal.SIGUSR2)  # the pid is now that of the recorder
        until(target.exists, "the recording", process)
        assert dump(process.pid).stdout == f"{tmp_path}/run.2.tapelens\n"
        (tmp_path / "progress.go").touch()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 1 and rest(err)[-1] == "ValueError: in step 50"
    lines = out.splitlines()
    assert lines[0] == "recorded True" and lines[1] + "\n" == HANDLERS
    assert numbers(harness.report(target))[:2] == [49, 50]
    assert left(tmp_path) == ["run.2.tapelens", "run.tapelens"]


def test_a_recorded_program_does_not_start_again(target, tmp_path):
    run = harness.record([harness.PYTHON, AGAIN, "on_demand.py", "other.tapelens", tmp_path / "progress", "5"], target, env=ENVIRONMENT)
    assert run.code == 0 and run.stdout.startswith("recorded True\n") and left(tmp_path) == ["run.tapelens"]


def test_a_program_that_cannot_start_again_runs_on():
    program = "import tapelens; print('recorded', tapelens.flight_recorder()); print('ran')"
    run = harness.bare([harness.PYTHON, "-"], env=ENVIRONMENT, input=program)
    assert run.said() == (0, "recorded False\nran\n", run.stderr)
    line, = messages(run.stderr)
    assert "put `tapelens record --on-demand --` in front of it; the program runs without it" in line


@pytest.mark.parametrize("arguments, says", [("on=['oom', 'SIGKILL']", "'SIGKILL' is not an event"), ("on='omm'", "'omm' is not an event"),
                                             ("last=0", "last=0 is not a number of steps"), ("output='-'", "output='-' is not a file")])
def test_wrong_arguments_do_not_stop_the_program(arguments, says):
    program = f"import tapelens; print('recorded', tapelens.flight_recorder({arguments})); print('ran')"
    run = harness.bare([harness.PYTHON, "-c", program], env=ENVIRONMENT)
    assert run.said() == (0, "recorded False\nran\n", run.stderr)
    assert says in run.stderr and "the program runs without it" in run.stderr


def test_a_program_without_standard_output_starts_again(target):
    program = ("import sys; sys.stdout = None\nimport tapelens\n"
               f"is_recorded = tapelens.flight_recorder(on='oom', output={str(target)!r})\nsys.stderr.write(f'recorded {{is_recorded}}\\n')")
    run = harness.bare([harness.PYTHON, "-c", program], env=ENVIRONMENT)
    assert run.code == 0 and run.stderr.startswith("recorded True\n")


def test_each_rank_starts_again_and_all_have_a_recording(tmp_path):
    words = harness.torchrun(str(AGAIN), "on_demand.py", f"{tmp_path}/run-%r.tapelens", str(tmp_path / "progress"), "20", "10")
    with subprocess.Popen(words, env=harness.environment(ENVIRONMENT), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        for rank in (0, 1):
            waiting(tmp_path / f"progress{rank}", process)
        asked = dump(process.pid).stdout.splitlines()
        assert asked == [f"{tmp_path}/run-{rank}.tapelens" for rank in (0, 1)]
        for rank in (0, 1):
            (tmp_path / f"progress{rank}.go").touch()
        out, err = process.communicate(timeout=120)
    assert process.returncode == 0 and out.count("recorded True\n") == 2, err
    for rank in (0, 1):
        report = harness.report(tmp_path / f"run-{rank}.tapelens")
        assert report["processes"][0]["rank"] == rank and numbers(report)[:2] == [9, 10]


# ---- many steps

class Watch(threading.Thread):
    """The disk space of the spools and the memory of the recorder, by the steps of the program."""

    def __init__(self, process, folder, progress):
        super().__init__()
        self.process, self.folder, self.progress, self.seen = process, folder, progress, []
        self.start()

    def run(self):
        while self.process.poll() is None:
            try:
                disk = sum(path.stat().st_blocks * 512 for path in self.folder.glob("*"))
                status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
                step = int(self.progress.read_text(encoding="utf-8").split()[1])
                self.seen.append((step, disk, int(status.split("VmRSS:")[1].split()[0]) * 1024))
            except (FileNotFoundError, IndexError, ProcessLookupError):
                pass
            time.sleep(0.02)

    def most(self, first, end):
        part = [(disk, memory) for step, disk, memory in self.seen if first <= step < end]
        return max(disk for disk, _ in part), max(memory for _, memory in part)


def test_10000_armed_steps_take_no_more_disk_and_memory_than_few(target, tmp_path):
    progress = tmp_path / "progress"
    with armed([harness.PYTHON, STEPS, progress, 10000], target) as process:
        watch = Watch(process, target.with_name("run.tapelens.spool"), progress)
        out, err = process.communicate(timeout=600)
        watch.join()
    assert process.returncode == 0 and out.splitlines()[-1].startswith("sum"), err
    early, late = watch.most(1000, 4000), watch.most(7000, 10000)
    print("disk and memory in MiB, steps 1,000 to 4,000 and 7,000 to 10,000:", [[round(value / MIB, 1) for value in part] for part in (early, late)])
    assert late[0] <= early[0] + CHUNK and late[0] < 48 * MIB
    assert late[1] <= early[1] * 1.1 + MIB and late[1] < 100 * MIB
    assert left(tmp_path) == []
