"""`tapelens record --last K`: the last steps are whole, older live allocations have names, and disk and memory do not
grow with the steps. A killed recorder leaves a spool that can be sealed."""

import os
import pathlib
import signal
import subprocess
import threading
import time

import harness

MANY_STEPS = pathlib.Path(__file__).parent / "cases/many_steps.py"
LEAK = next(n for n, line in enumerate(MANY_STEPS.read_text().splitlines(), 1) if "the leak" in line)
MIB = 1 << 20


def program(tmp_path, *arguments):
    return [harness.PYTHON, MANY_STEPS, tmp_path / "progress", *arguments]


def on_disk(folder):
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return total


class Watch(threading.Thread):
    """Measures the largest size of the spools on disk, and the peak memory of a process, while it runs."""

    def __init__(self, process, folder):
        super().__init__()
        self.process, self.folder, self.disk, self.memory, self.looks = process, folder, 0, 0, 0
        self.start()

    def run(self):
        while self.process.poll() is None:
            self.disk = max(self.disk, on_disk(self.folder))
            try:
                status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
                self.memory = max(self.memory, int(status.split("VmHWM:")[1].split()[0]) * 1024)
            except (FileNotFoundError, IndexError, ProcessLookupError):
                pass
            self.looks += 1
            time.sleep(0.02)


def record(command, target, options=("--last", "3")):
    """Runs the command to its end. Returns its messages and its use of disk and memory."""
    words = [str(c) for c in harness.recording(command, target, options, quiet=False)]
    with subprocess.Popen(words, env=harness.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        watch = Watch(process, target.with_name(target.name + ".spool"))
        out, err = process.communicate(timeout=600)
        watch.join()
    return harness.Run(process.returncode, out, err), watch


def steps_left_out(report):
    return [loss for loss in report["recording"]["lost"] if loss["kind"] == "steps_left_out"]


def check_last(report, first, last, whole=True):
    """Steps `first` to `last` exist and are whole, and older live allocations have names."""
    steps = report["steps"]
    assert [s["index"] for s in steps[:last - first + 1]] == list(range(first, last + 1))
    assert all(s["complete"] for s in steps[:last - first + 1])
    assert len({s["allocations"] for s in steps[:last - first + 1] if s["index"] % 1000 != 7}) == 1
    left_out, = steps_left_out(report)
    assert left_out["count"] == first
    assert report["recording"]["steps"] == f"{first}:"
    assert report["saves"]["unattributed"] == 0
    kinds = {loss["kind"] for loss in report["recording"]["lost"] if loss["count"]}
    assert kinds <= ({"steps_left_out"} if whole else {"steps_left_out", "truncated_spool"}), report["recording"]["lost"]
    before = [a for a in report["peak"]["allocations"] if a["step"] < first]
    names = {(h["kind"], h["name"]) for a in before for h in a["holders"]}
    assert {("parameter", f"{n}.{p}") for n in (0, 2) for p in ("weight", "bias")} <= names
    assert {"exp_avg", "exp_avg_sq"} <= {name for kind, name in names if kind == "optimizer_state"}
    leaked = [a for a in before if a["bytes"] == 12000]
    assert len(leaked) == (first - 1 - 7) // 1000 + 1
    assert all(a["stack"][0]["file"].endswith("many_steps.py") and a["stack"][0]["line"] == LEAK for a in leaked)
    assert all(a["operator"] and a["holders"] for a in leaked)
    assert harness.unexplained(report) == []
    return left_out["message"]


def test_5000_steps_take_no_more_disk_and_memory_than_few(target, tmp_path):
    assert record(program(tmp_path, 200), tmp_path / "whole.tapelens", ["--keep-spool"])[0].code == 0
    whole = on_disk(tmp_path / "whole.tapelens.spool")
    run, watch = record(program(tmp_path, 5000), target)
    assert run.code == 0, run.stderr
    report = harness.report(target)
    message = check_last(report, 4997, 4999)
    assert "steps 0 to 4,996 were left out" in message
    assert "cpu had more in the omitted steps than since: 64" in message and message.endswith("in step 10"), message
    print(f"disk {watch.disk / MIB:.1f} MiB, memory of tapelens record {watch.memory / MIB:.1f} MiB, 200 whole steps {whole / MIB:.1f} MiB")
    assert watch.looks > 50
    assert watch.disk < 40 * MIB < whole * 25
    assert watch.memory < 100 * MIB
    assert not target.with_name(target.name + ".spool").exists()
    # The numbers equal those of a recording with all steps.
    few = harness.report(tmp_path / "whole.tapelens")
    assert report["steps"][0]["allocations"] == few["steps"][150]["allocations"]
    assert report["steps"][0]["allocated_bytes"] == few["steps"][150]["allocated_bytes"]


def test_the_program_is_killed(target, tmp_path):
    run, _ = record(program(tmp_path, 900, "kill", 777), target)
    assert run.code == 128 + signal.SIGKILL
    report = harness.report(target)
    check_last(report, 774, 776, whole=False)
    assert report["steps"][-1]["index"] == 777 and not report["steps"][-1]["complete"]


def test_the_exit_code_is_the_programs(target, tmp_path):
    run, _ = record(program(tmp_path, 300, "raise", 250), target)
    assert run.code == 7
    check_last(harness.report(target), 247, 249)


def wait_for(what, condition, process):
    end = time.monotonic() + 120
    while time.monotonic() < end and process.poll() is None:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"no {what} in time, exit code {process.poll()}")


def test_tapelens_record_is_killed_and_then_its_program(target, tmp_path):
    words = [str(c) for c in harness.recording(program(tmp_path, 9000, "wait", 5000), target, ["--last", "3"])]
    progress, folder = tmp_path / "progress", target.with_name(target.name + ".spool")
    with subprocess.Popen(words, env=harness.environment()) as process:
        wait_for("step left out", lambda: list(folder.glob("*.older")), process)
        process.kill()
        process.wait()
        said = progress.read_text()
        assert "waits" not in said  # the program trains on: its later steps stay in the spool
        ended = int(said.rsplit("ended ", 1)[1].split("\n")[0])
        end = time.monotonic() + 120
        while "waits" not in progress.read_text() and time.monotonic() < end:
            time.sleep(0.05)
        os.kill(int(progress.read_text().split()[1]), signal.SIGKILL)
    sealed = harness.bare([harness.BINARY, "seal", folder, "-o", target])
    assert sealed.code == 0, sealed.stderr
    report = harness.report(target)
    left_out, = steps_left_out(report)
    check_last(report, left_out["count"], 4999, whole=False)
    assert 100 < left_out["count"] <= ended + 1


def test_each_process_has_its_own(target, tmp_path):
    script = f"{harness.PYTHON} {MANY_STEPS} {tmp_path}/a 400 & {harness.PYTHON} {MANY_STEPS} {tmp_path}/b 300; wait"
    run, _ = record(["sh", "-c", script], target)
    assert run.code == 0, run.stderr
    report = harness.report(target)
    assert sorted(loss["count"] for loss in steps_left_out(report)) == [297, 397]


def test_fewer_steps_than_are_kept(target, tmp_path):
    run, _ = record(program(tmp_path, 4), target, ["--last", "10"])
    assert run.code == 0
    report = harness.report(target)
    assert steps_left_out(report) == [] and report["recording"]["lost"] == []
    assert [s["index"] for s in report["steps"]] == [0, 1, 2, 3]


def test_the_steps_around_the_first_time_that_there_is_more(target, tmp_path):
    run, _ = record(program(tmp_path, 2000), target, ["--when", "peak>60MiB"])
    assert run.code == 0, run.stderr
    report = harness.report(target)
    left_out, = steps_left_out(report)
    steps = [s["index"] for s in report["steps"]]
    assert left_out["count"] == 7 and steps[:7] == [7, 8, 9, 10, 11, 12, 13]
    assert steps[-1] < 1500, "the recording ended before the program"
    assert report["peak"]["step"] == 10 and report["peak"]["bytes"] > 64 * MIB
    assert {loss["kind"] for loss in report["recording"]["lost"]} == {"steps_left_out"}


def test_there_is_never_more(target, tmp_path):
    run, _ = record(program(tmp_path, 300), target, ["--last", "5", "--when", "peak > 1GiB"])
    assert run.code == 0 and "peak > 1GiB was never reached: these are the last steps" in run.stderr, run.stderr
    check_last(harness.report(target), 295, 299)


def test_what_does_not_go_together():
    for options, said in [(["--last", "3", "--steps", "2:4"], "excludes"), (["--last", "0"], "'0' is not a number of steps"),
                          (["--when", "60GiB"], "'60GiB' is not a condition, like 'peak>60GiB'"),
                          (["--when", "peak>0"], "is not a condition"), (["--when", "peak>1GiB", "--steps", "1:"], "excludes"),
                          (["--last", "x"], "'x' is not a number of steps"),
                          (["--last", "3", "--max-size", "10MiB"], "with --last, --when and --on-demand it is at least 64MiB")]:
        run = harness.bare([harness.BINARY, "record", *options, "--", "true"])
        assert run.code == 2 and said in run.stderr and run.stderr.count("\n") == 1, run.stderr
