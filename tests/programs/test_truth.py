"""bench/truth.py compares a program on the simulated GPU with a snapshot. This test uses a snapshot of the simulated
GPU itself, so the run repeats it."""

import pytest

import harness
from test_cuda import has_cuda

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
PROGRAM = """
import sys, torch
keeps_history = len(sys.argv) > 2
if keeps_history:
    torch.cuda.memory._record_memory_history(stacks="python")
net = torch.nn.Linear(300, int(sys.argv[1])).cuda()
net(torch.randn(64, 300, device="cuda")).square().mean().backward()
if keeps_history:
    torch.cuda.memory._dump_snapshot(sys.argv[2])
"""


def truth(snapshot, *words):
    return harness.bare([harness.PYTHON, harness.ROOT / "bench/truth.py", snapshot, "--gpu", "H100", "--tapelens", harness.BINARY, *words],
                        timeout=600)


@pytest.fixture(name="program")
def fixture_program(tmp_path):
    file = tmp_path / "train.py"
    file.write_text(PROGRAM, encoding="utf-8")
    return file


def test_the_same_program_is_the_same_and_another_is_not(program, tmp_path):
    snapshot = tmp_path / "real.pickle"
    run = harness.bare([harness.BINARY, "run", "--gpu", "H100", "--", harness.PYTHON, program, "700", snapshot], timeout=600)
    assert run.code == 0, run.stderr
    same = truth(snapshot, "--", program, "700", tmp_path / "again.pickle")
    assert same.code == 0, same.stdout + same.stderr
    assert "all the same" in same.stdout and "with the same blocks" in same.stdout
    other = truth(snapshot, "--", program, "701", tmp_path / "again.pickle")
    assert other.code == 1, other.stdout + other.stderr
    assert "first difference: event 1: real: alloc of 840,000 bytes" in other.stdout, other.stdout
    assert "simulated: alloc of 841,200 bytes" in other.stdout and "train.py:6" in other.stdout
    none = truth(snapshot, "--", program, "700")
    assert none.code == 2 and "--whole" in none.stderr


def test_what_is_no_snapshot_is_said(program, tmp_path):
    file = tmp_path / "nothing.pickle"
    file.write_bytes(b"nothing")
    assert truth(file, "--", program, "700").code == 2
    assert "bench/truth.py snapshot.pickle --gpu H100 -- train.py" in harness.bare(
        [harness.PYTHON, harness.ROOT / "bench/truth.py", "--help"]).stdout
