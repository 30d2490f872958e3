"""The wheel on a Debian with an older C library: scripts/try-glibc installs both, and passes a command that runs others
there."""

import json
import os
import pathlib
import re
import subprocess

import pytest

INSIDE = os.environ["TAPELENS_GLIBC_INSIDE"]
TRAINER = [os.environ["TAPELENS_GLIBC_TRAINER"], "--size", "small", "--steps", "3"]
TRAIN = pathlib.Path(__file__).parents[1] / "wheel/train.py"
ON_A_GPU = """
import torch
net = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(net.parameters())
for _ in range(2):
    net(torch.randn(64, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
print(torch.cuda.get_device_name(), torch.cuda.max_memory_allocated())
"""


@pytest.fixture
def inside(tmp_path):
    def run(*command, check=True, **variables):
        done = subprocess.run([INSIDE, *(str(word) for word in command)], capture_output=True, text=True, cwd=tmp_path, check=False,
                              timeout=500, env=os.environ | {"OMP_NUM_THREADS": "1", "LC_ALL": "C.UTF-8"} | variables)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done
    return run


def supported(inside):
    """Older Pythons are recorded without stacks and steps of optimizers."""
    return int(inside("python", "-c", "import sys; print(sys.version_info[1])").stdout) >= 10


def test_the_commands_run(inside):
    assert inside("getconf", "GNU_LIBC_VERSION").stdout == "glibc 2.31\n"
    assert inside("tapelens", "--version").stdout.startswith("tapelens ")
    assert "record" in inside("tapelens", "--help").stdout
    assert inside("tapelens", "doctor", "--", "python").returncode == 0
    ended = inside("tapelens", "record", "-o", "run.tapelens", "--", "sh", "-c", "kill -SEGV $$", check=False)
    assert "ended with 139 (SIGSEGV)" in ended.stderr, ended


def test_a_python_program(inside):
    bare = inside("python", TRAIN)
    counted = int(inside("python", TRAIN, COUNT="1").stdout.split()[-1])
    recorded = inside("tapelens", "record", "-o", "run.tapelens", "--", "python", TRAIN)
    assert recorded.stdout == bare.stdout
    report = json.loads(inside("tapelens", "report", "run.tapelens", "--format", "json").stdout)
    assert report["saves"]["count"] == counted
    text = inside("tapelens", "report", "run.tapelens").stdout
    assert "ConvolutionBackward0.input" in text
    assert ("train.py:" in text) == supported(inside), text
    assert "Peak" in inside("tapelens", "advise", "run.tapelens").stdout
    for form in ("perfetto", "sqlite"):
        inside("tapelens", "export", "run.tapelens", "--format", form, "-o", f"run.{form}")


def test_rewrites_keep_the_output(inside):
    bare = inside("python", TRAIN)
    assert inside("tapelens", "run", "--apply", "bitwise", "--", "python", TRAIN).stdout == bare.stdout
    verified = inside("tapelens", "verify", "--apply", "bitwise", "--", "python", TRAIN, check=False)
    if supported(inside):
        assert verified.returncode == 0 and "Identical, bit for bit, in 3 steps" in verified.stdout, verified
    else:
        assert verified.returncode == 5 and "The same in 1 step: 3 losses" in verified.stdout, verified


def test_a_simulated_gpu(inside, tmp_path):
    (tmp_path / "on_a_gpu.py").write_text(ON_A_GPU)
    ran = inside("tapelens", "run", "--gpu", "H100", "--", "python", "on_a_gpu.py").stdout
    assert re.search(r"H100.* \d{8,}$", ran.strip()), ran
    inside("tapelens", "record", "--gpu", "H100", "-o", "gpu.tapelens", "--", "python", "on_a_gpu.py")
    report = json.loads(inside("tapelens", "report", "gpu.tapelens", "--format", "json").stdout)
    assert report["peak"]["bytes"] == int(ran.split()[-1])


def test_a_cpp_program(inside):
    bare = inside(*TRAINER).stdout
    recorded = inside("tapelens", "record", "-o", "cpp.tapelens", "--", *TRAINER)
    assert re.findall(r"loss (\S+)", recorded.stdout) == re.findall(r"loss (\S+)", bare)
    report = json.loads(inside("tapelens", "report", "cpp.tapelens", "--format", "json").stdout)
    assert report["saves"]["count"] > 0 and report["saves"]["unattributed"] == 0
    assert "trainer.cpp:" in inside("tapelens", "report", "cpp.tapelens").stdout


def test_the_window(inside, tmp_path):
    if inside("which", "tapelens-gui", check=False).returncode != 0:
        pytest.skip("the wheel was made without the window")
    inside("tapelens", "record", "-o", "run.tapelens", "--", "python", TRAIN)
    # The command looks for PySide6 in the folders of Python 3.10 and newer.
    qt = inside("python", "-c", "import PySide6; print(PySide6.__path__[0] + '/Qt/lib')").stdout.strip()
    inside("tapelens", "view", "run.tapelens", "--screenshot", "window.png", LD_LIBRARY_PATH=qt)
    assert (tmp_path / "window.png").read_bytes().startswith(b"\x89PNG")
