"""pytest --tapelens: sessions as a user runs them, as processes of their own."""

import json
import re

import harness
from python_package import ENVIRONMENT

MIB = 1 << 20
TESTS = """
import pytest
import torch

KEPT = []

@pytest.fixture
def weight():
    return torch.nn.Parameter(torch.zeros(1024, 1024))

def test_small():
    torch.zeros(256, 1024)

@pytest.mark.peak_memory("20 MiB")
def test_within(weight):
    (weight * 2).relu().sum().backward()

@pytest.mark.peak_memory("10 MiB")
def test_above(weight):
    (weight * 2).relu().exp().tanh()

def test_keeps():
    KEPT.append(torch.zeros(2048, 1024))

@pytest.mark.peak_memory("2 MiB", device="cuda:0")
def test_of_another_device():
    torch.zeros(2048, 1024)

def test_no_torch():
    pass

def test_fails():
    torch.zeros(1024, 1024)
    assert False, "by itself"
"""


def session(folder, *options, tests=TESTS, ini="", plugin=True):
    (folder / "test_it.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n" + ini)
    command = [harness.PYTHON, "-m", "pytest", "-p", "no:cacheprovider", *(["-p", "tapelens.pytest_plugin"] if plugin else []), *options]
    return harness.bare(command, env=ENVIRONMENT, cwd=folder)


def test_a_test_that_is_above_its_limit_fails_and_is_told_why(tmp_path):
    run = session(tmp_path, "--tapelens", "--tapelens-output", "session.tapelens")
    assert run.code == 1, run.stdout + run.stderr
    assert "2 failed, 5 passed" in run.stdout
    words = " ".join(run.stdout.split())
    assert "AssertionError: by itself" in words
    assert "the test took 16.0 MiB on cpu, above its limit, 10 MiB. At the peak: 4.0 MiB" in words, words
    assert re.search(r"(Relu|Exp|Tanh)Backward0\.result \(test_it\.py:20 test_above\)", words), words
    assert "FAILED test_it.py::test_above" in words
    assert "8.0 MiB test_it.py::test_keeps on cpu" in words
    assert "test_no_torch" not in words
    assert harness.report(tmp_path / "session.tapelens")["peak"]["bytes"] >= 16 * MIB


def test_without_the_option_nothing_is_measured(tmp_path):
    run = session(tmp_path, "-k", "above", "--strict-markers")
    assert run.code == 0
    assert "memory, by Tapelens" not in run.stdout


def test_a_limit_of_all_tests(tmp_path):
    run = session(tmp_path, "--tapelens", "--tapelens-limit", "4 MiB", "-k", "small or keeps or within", ini="tapelens_limit = 512 KiB\n")
    words = " ".join(run.stdout.split())
    assert run.code == 1 and "1 failed, 2 passed" in words
    assert "the test took 8.0 MiB on cpu, above the limit of all tests, 4 MiB. At the peak:" in words


def test_a_baseline(tmp_path):
    chosen = "-k", "small or keeps"
    run = session(tmp_path, "--tapelens", *chosen, "--tapelens-write-baseline", "memory.json")
    assert run.code == 0, run.stdout
    held = json.loads((tmp_path / "memory.json").read_text())["tests"]
    assert held == {"test_it.py::test_keeps": {"cpu": 8 * MIB}, "test_it.py::test_small": {"cpu": MIB}}
    ini = "tapelens_baseline = memory.json\n"
    worse = TESTS.replace("torch.zeros(256, 1024)", "torch.zeros(512, 1024)")
    run = session(tmp_path, "--tapelens", *chosen, ini=ini, tests=worse)
    words = " ".join(run.stdout.split())
    assert run.code == 1 and "1 failed, 1 passed" in words
    assert "the test took 2.0 MiB on cpu, above 1.0 MiB in the baseline memory.json (+100.0%). At the peak: 2.0 MiB" in words
    # Within the tolerance; and tests that did not run stay in the baseline.
    run = session(tmp_path, "--tapelens", "-k", "small", "--tapelens-write-baseline", "memory.json",
                  ini=ini + "tapelens_tolerance = 150%\n", tests=worse)
    assert run.code == 0, run.stdout
    assert json.loads((tmp_path / "memory.json").read_text())["tests"] == {**held, "test_it.py::test_small": {"cpu": 2 * MIB}}


def test_what_cannot_be_is_said_before_anything_runs(tmp_path):
    for options, tests, said in ((["--tapelens-limit", "much"], TESTS, "tapelens_limit: 'much' is not a size, like '2 GiB'"),
                                 (["--tapelens-baseline", "none.json"], TESTS, "the baseline none.json cannot be read"),
                                 ([], TESTS.replace('"10 MiB"', '"ten"'), "test_above: peak_memory: 'ten' is not a size")):
        run = session(tmp_path, "--tapelens", *options, tests=tests)
        assert run.code == 4 and said in run.stderr + run.stdout, run.stdout + run.stderr
        assert "passed" not in run.stdout


def test_a_session_without_torch(tmp_path):
    run = session(tmp_path, "--tapelens", tests="def test_nothing(): pass\n")
    assert run.code == 0 and "no test took memory of LibTorch's" in run.stdout


def test_files_that_a_session_writes_replace_their_own_and_nothing_else(tmp_path):
    options = ["--tapelens", "-k", "small", "--tapelens-output", "session.tapelens", "--tapelens-write-baseline=memory.json"]
    for _ in range(2):
        run = session(tmp_path, *options)
        assert run.code == 0, run.stdout + run.stderr
    assert (tmp_path / "memory.json").stat().st_mode & 0o777 == 0o600
    for name in ("session.tapelens", "memory.json"):
        kept = (tmp_path / name).read_bytes()
        (tmp_path / name).write_text('{"mine": 1}')
        run = session(tmp_path, *options)
        assert run.code != 0 and "1 passed" not in run.stdout, run.stdout
        assert (tmp_path / name).read_text() == '{"mine": 1}'
        (tmp_path / name).write_bytes(kept)
