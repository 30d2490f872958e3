"""Well-written programs: no check may have a finding above `info`."""

import concurrent.futures
import sys

import pytest

import harness
import reported

sys.path.insert(0, str(harness.CASES))
import trainings  # noqa: E402

PROGRAMS = {
    **{name: [harness.CASES / "trainings.py", name] for name in [*trainings.VISION, *trainings.LANGUAGE]},
    "gpt": [harness.SAMPLES / "gpt.py"],
    "gpt_fused": [harness.SAMPLES / "gpt.py", "--fused"],
    "lstm": [harness.SAMPLES / "lstm.py"],
    "lstm_own_cell": [harness.SAMPLES / "lstm.py", "--own-cell"],
    "custom_function": [harness.SAMPLES / "custom_function.py"],
    "dataloader": [harness.SAMPLES / "dataloader.py"],
}
# Well-written programs with packages of PyPI, one program a file.
PROGRAMS.update({program.stem: [program] for program in sorted((harness.HERE / "corpus").glob("*.py"))})
# The reported programs in their fixed versions.
PROGRAMS.update({program.fixed.stem: [program.fixed] for program in reported.collect() if not program.record})


def findings_of(command, target):
    run = harness.record([harness.PYTHON, *command], target)
    assert run.code == 0, run.stderr
    value = harness.advise(target)
    target.unlink()
    return value


@pytest.fixture(scope="module")
def pool(request, tmp_path_factory):
    """Records two programs at a time, in the background. Imports take most of the time."""
    folder = tmp_path_factory.mktemp("recordings")
    chosen = [item.callspec.params["name"] for item in request.session.items if item.module is request.module
              and "name" in getattr(getattr(item, "callspec", None), "params", {})]
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        yield {name: executor.submit(findings_of, PROGRAMS[name], folder / f"{name}.tapelens") for name in chosen}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_well_written_program_has_no_finding_above_info(name, pool):
    value = pool[name].result()
    assert value["advice"]["refused"] == []
    assert value["recording"]["complete"]
    assert len(value["advice"]["checks"]) > 10
    assert [{key: f[key] for key in ("check", "severity", "title", "bytes", "source", "peak_before_bytes", "peak_after_bytes")}
            for f in value["findings"] if f["severity"] != "info"] == []


TRAINING = """
import os, signal, torch
from torch import nn
from torch.nn import functional as F
model = nn.Sequential(*(layer for _ in range(4) for layer in (nn.Linear(256, 256), nn.Sigmoid())))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    inputs, labels = torch.randn(1024, 256), torch.randn(1024, 256)
    outputs = model(inputs)
    if step == STEP:
        END
    F.mse_loss(outputs, labels).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ENDS = {"exception": ("raise ValueError(step)", 1), "exit": ("raise SystemExit(3)", 3), "os_exit": ("os._exit(3)", 3),
        "killed": ("os.kill(os.getpid(), signal.SIGKILL)", 137),
        "interrupted": ("os.kill(os.getpid(), signal.SIGINT)", 130)}


@pytest.mark.parametrize("step", [0, 2])
@pytest.mark.parametrize("end", ENDS)
def test_a_training_that_is_cut_short_before_its_backward_is_no_finding(end, step, target):
    statement, code = ENDS[end]
    program = TRAINING.replace("STEP", str(step)).replace("END", statement)
    run = harness.record([harness.PYTHON, "-c", program], target)
    assert run.code == code, run.stderr
    process, = harness.report(target)["processes"]
    assert process["finished"] == (code < 128) and process["exit_code"] == (code if code < 128 else None)
    findings = [(f["check"], f["severity"]) for f in harness.advise(target)["findings"]]
    assert [finding for finding in findings if finding[1] != "info"] == []
    assert not any(check == "graph-without-backward" for check, _ in findings)
    # Only later steps have tensors of the previous step in the loop's variables, which are a finding.
    assert step > 0 or not any(check == "idle-holder" for check, _ in findings)


def test_there_are_enough_of_them():
    assert len(PROGRAMS) >= 20 + 30
