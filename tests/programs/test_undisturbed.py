"""Under `tapelens record`, a program has the same output, effects and exit code as alone."""

import json
import os
import signal
import subprocess
import time

import pytest

import harness

PYTHON = harness.PYTHON
PREAMBLE = "import torch; torch.set_num_threads(1); torch.manual_seed(0)\n"
STEP = "w = torch.randn(64, 64, requires_grad=True); (w @ w).relu().sum().backward()\n"


def python(code):
    return [PYTHON, "-c", code]


COMMANDS = {
    "print": python("print(1)"),
    "ls": ["ls", "/"],
    "pipeline": ["sh", "-c", "seq 1 100000 | grep 7 | head -n 3"],
    "wrong_option": ["ls", "--no-such-option"],
    "false": ["false"],
    "python_exit_3": python("import sys; print('bye', file=sys.stderr); sys.exit(3)"),
    "torch_exit_3": python(PREAMBLE + STEP + "import sys; print(w.grad.sum().item()); sys.exit(3)"),
    "uncaught": python(PREAMBLE + STEP + "raise ValueError('on purpose')"),
    "uncaught_in_backward": [PYTHON, harness.CASES / "raises_in_backward.py"],
    "os_exit": python(PREAMBLE + STEP + "import os; print('x', flush=True); os._exit(5)"),
    "standard_input": ["cat"],
    "fork": [PYTHON, harness.CASES / "forks.py"],
    "random_state": [PYTHON, harness.CASES / "random_state.py"],
    "dynamo": [PYTHON, harness.CASES / "compiled.py", "aot_eager"],
    "environment": python("import os; print('LD_PRELOAD' in os.environ, "
                          "[k for k in os.environ if k.startswith('TAPELENS')])"),
}
# The library is loaded through the environment, so a program can see its variables.
DIFFERENT = {"environment"}


@pytest.mark.parametrize("name", [n for n in COMMANDS if n not in DIFFERENT])
def test_a_command_behaves_as_alone(name, target):
    text = "one\ntwo\n" if name == "standard_input" else None
    alone = harness.bare(COMMANDS[name], input=text)
    recorded = harness.record(COMMANDS[name], target, input=text)
    assert recorded.said() == alone.said()


def test_a_command_that_does_not_exist_fails_as_in_a_shell(target):
    recorded = harness.record(["/no/such/command"], target)
    assert recorded.code == 127
    assert "/no/such/command" in recorded.stderr
    assert not target.exists()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGABRT", "SIGSEGV"])
def test_death_by_a_signal_is_128_and_its_number(name, target):
    code = PREAMBLE + STEP + f"import os, signal; os.kill(os.getpid(), signal.{name})"
    recorded = harness.record(python(code), target)
    assert recorded.code == 128 + getattr(signal, name)
    assert harness.report(target)["processes"]


@pytest.mark.parametrize("code", ["print(1)", "import torch", "import torch; print(torch.__version__)"])
def test_a_process_that_runs_no_operator_leaves_nothing(code, target):
    recorded = harness.record(python(code), target)
    assert recorded.code == 0
    assert os.listdir(target.parent) == []


def test_interrupting_reaches_the_program_and_the_recording_is_sealed(target):
    command = [str(c) for c in harness.recording([PYTHON, harness.CASES / "interrupted.py"], target)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=harness.environment(), start_new_session=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the signal goes to the foreground group
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (7, "interrupted once\n", "")
    report = harness.report(target)
    assert [r for r in report["ranges"] if r["name"] == "after the interrupt"]


def test_a_recompiled_function_breaks_and_recompiles_as_often_as_alone(target):
    command = [PYTHON, harness.CASES / "compiled.py", "aot_eager"]
    alone = harness.bare(command, check=True)
    counted = json.loads(alone.stdout.splitlines()[-1])
    assert counted["frames"] > 0 and counted["graph_breaks"] > 0 and counted["recompiles"] > 0
    recorded = harness.record(command, target)
    assert recorded.said() == alone.said()


def test_inductor_compiles_the_same(target):
    command = [PYTHON, harness.CASES / "compiled.py", "inductor"]
    alone = harness.bare(command, timeout=600)
    if alone.code != 0:
        pytest.skip("inductor does not work here alone: " + alone.stderr.strip().splitlines()[-1])
    recorded = harness.record(command, target, timeout=600)
    assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
    assert harness.unstamped(recorded.stderr) == harness.unstamped(alone.stderr)


def test_forked_children_are_counted_and_not_recorded(target):
    _, report = harness.record_and_report([PYTHON, harness.CASES / "forks.py"], target)
    assert len(report["processes"]) == 1
    assert {loss["kind"]: loss["count"] for loss in report["recording"]["lost"]} == {"forked_child": 2}


def test_spawned_children_are_processes_of_the_recording(target):
    command = [PYTHON, harness.CASES / "spawns.py"]
    alone = harness.bare(command, check=True)
    recorded, report = harness.record_and_report(command, target)
    assert recorded.said() == alone.said()
    assert len(report["processes"]) == 3
    assert len({process["pid"] for process in report["processes"]}) == 3


def test_steps_outside_the_wanted_ones_are_not_kept(target):
    _, whole = harness.record_and_report([PYTHON, harness.SAMPLES / "lstm.py", "--steps", "6"], target)
    _, part = harness.record_and_report([PYTHON, harness.SAMPLES / "lstm.py", "--steps", "6"],
                                        target.with_name("part.tapelens"), options=["--steps", "2:4"])
    assert 0 < part["saves"]["count"] < whole["saves"]["count"]


def test_an_unsupported_torch_is_said_once_and_the_program_runs(target):
    program = os.environ.get("TAPELENS_FAKE_TORCH")
    if not program:
        pytest.skip("TAPELENS_FAKE_TORCH is not set: run through ctest")
    alone = harness.bare([program], check=True)
    recorded = harness.record([program], target, quiet=False)
    assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
    lines = recorded.stderr.splitlines()
    assert len(lines) == 1 and "77.3" in lines[0] and "unrecorded" in lines[0], recorded.stderr
    # The same for several processes, and for rewrites without recording.
    twice = harness.record(["sh", "-c", f"'{program}'; '{program}'"], target, quiet=False)
    assert twice.stderr == recorded.stderr
    rewritten = harness.bare([harness.BINARY, "run", "--apply", "lossless", "--", program])
    assert len(rewritten.stderr.splitlines()) == 1 and "as it is" in rewritten.stderr, rewritten.stderr
    verified = harness.bare([harness.BINARY, "verify", "--apply", "lossless", "--", program])
    assert verified.code == 3 and "nothing was compared: no probe for PyTorch 77.3" in verified.stderr, verified.stderr
    assert not target.exists()
