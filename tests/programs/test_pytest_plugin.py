"""pytest --tapelens: sessions as a user runs them, as separate processes."""

import json
import re

import pytest

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
    assert "3 failed, 4 passed" in run.stdout
    words = " ".join(run.stdout.split())
    assert "AssertionError: by itself" in words
    assert "the test took 16.0 MiB on cpu, above its limit, 10 MiB. At the peak: 4.0 MiB" in words, words
    assert re.search(r"(Relu|Exp|Tanh)Backward0\.result \(test_it\.py:20 test_above\)", words), words
    assert "FAILED test_it.py::test_above" in words
    assert "its limit, 2 MiB on cuda:0, was not measured: the test allocated nothing on cuda:0" in words
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


def test_sizes_have_the_units_of_the_command_line():
    from tapelens import _sizes  # the package that was built

    sizes = {"2 GiB": 2 << 30, "1.5g": 3 << 29, "500M": 500 * MIB, "500MB": 500_000_000, "2 kb": 2000, "4096": 4096, "7 B": 7}
    assert {text: _sizes.parsed(text) for text in sizes} == sizes


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


def test_a_limit_without_the_option_is_wrong_usage(tmp_path):
    run = session(tmp_path, "--tapelens-limit", "1 MiB")
    assert run.code == 4 and "--tapelens-limit measures nothing without --tapelens" in run.stderr, run.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", [["-n", "2"], ["-n", "1", "--dist", "loadfile"], ["-n", "2", "--dist", "loadscope"], ["-n", "0"],
                                 ["-n", "2", "--dist", "each"], ["-n", "2", "-p", "no:terminal"]])
def test_the_workers_of_xdist_are_measured(how, tmp_path):
    run = session(tmp_path, "--tapelens", *how, "-k", "within or above or small")
    assert run.code == 1, run.stdout + run.stderr
    if "no:terminal" in how:
        return
    words = " ".join(run.stdout.split())
    assert f"{1 if 'each' not in how else 2} failed" in words or "1 failed" in words, words
    assert "the test took 16.0 MiB on cpu, above its limit, 10 MiB. At the peak: 4.0 MiB" in words, words
    assert "FAILED test_it.py::test_above" in words and "12.0 MiB test_it.py::test_within on cpu" in words, words


def test_limits_of_all_tests_and_baselines_hold_in_workers_too(tmp_path):
    chosen = "-n", "2", "-k", "small or keeps"
    run = session(tmp_path, "--tapelens", *chosen, "--tapelens-limit", "4 MiB")
    assert run.code == 1 and "the test took 8.0 MiB on cpu, above the limit of all tests, 4 MiB" in " ".join(run.stdout.split())
    run = session(tmp_path, "--tapelens", *chosen, "--tapelens-write-baseline", "memory.json")
    assert run.code == 0, run.stdout
    assert json.loads((tmp_path / "memory.json").read_text())["tests"] == {
        "test_it.py::test_keeps": {"cpu": 8 * MIB}, "test_it.py::test_small": {"cpu": MIB}}
    worse = TESTS.replace("torch.zeros(256, 1024)", "torch.zeros(512, 1024)")
    run = session(tmp_path, "--tapelens", *chosen, "--tapelens-baseline", "memory.json", tests=worse)
    assert run.code == 1 and "above 1.0 MiB in the baseline memory.json (+100.0%)" in " ".join(run.stdout.split())


def test_a_wrong_mark_fails_its_test_in_a_worker(tmp_path):
    run = session(tmp_path, "--tapelens", "-n", "2", "-k", "above or small", tests=TESTS.replace('"10 MiB"', '"ten"'))
    words = " ".join(run.stdout.split())
    assert run.code == 1 and "its memory was not measured: test_it.py::test_above: peak_memory: 'ten' is not a size" in words, words


CRASHES = """
import os
import pytest
import torch

@pytest.mark.parametrize("number", range(4))
@pytest.mark.peak_memory("1 MiB")
def test_many(number):
    torch.zeros(1024, 1024)

def test_crashes():
    os._exit(9)
"""


def test_of_a_worker_that_crashed_and_was_started_anew_all_is_measured(tmp_path):
    run = session(tmp_path, "--tapelens", "-n", "1", tests=CRASHES)
    words = " ".join(run.stdout.split())
    assert run.code == 1 and "5 failed" in words, words
    assert words.count("above its limit, 1 MiB") >= 4, words


def test_what_the_processes_of_a_test_take_counts(tmp_path):
    tests = """
import subprocess
import sys
import pytest

@pytest.mark.peak_memory("3 MiB")
def test_starts_a_process():
    subprocess.run([sys.executable, "-c", "import torch; torch.zeros(1024, 1024)"], check=True)
"""
    run = session(tmp_path, "--tapelens", tests=tests)
    assert run.code == 1 and "the test took 4.0 MiB on cpu, above its limit, 3 MiB" in " ".join(run.stdout.split()), run.stdout


# Like pytest-forked: each test runs in a child process, which sends its reports to the parent.
FORKS = """
import json
import os
import pytest
from _pytest.runner import runtestprotocol

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    hook, config = item.ihook, item.config
    into, out = os.pipe()
    if os.fork() == 0:
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        with os.fdopen(out, "w") as file:
            json.dump([config.hook.pytest_report_to_serializable(config=config, report=one) for one in reports], file)
        os._exit(0)
    os.close(out)
    with os.fdopen(into) as file:
        reports = json.load(file)
    os.wait()
    for one in reports:
        hook.pytest_runtest_logreport(report=config.hook.pytest_report_from_serializable(config=config, data=one))
    return True
"""


def test_a_test_that_was_not_measured_fails(tmp_path):
    # A forked child of a recorded process is not recorded.
    loaded = TESTS.replace("KEPT = []", "KEPT = [torch.zeros(8)]")
    (tmp_path / "conftest.py").write_text(FORKS)
    run = session(tmp_path, "--tapelens", "-k", "within or small", tests=loaded)
    words = " ".join(run.stdout.split())
    assert run.code == 1 and "1 failed, 1 passed" in words, words
    assert "FAILED test_it.py::test_within" in words
    assert "the test has a limit, and its memory was not measured: its process is not recorded: it was forked" in words
    run = session(tmp_path, "--tapelens", "-k", "small", "--tapelens-write-baseline", "memory.json", tests=loaded)
    assert run.code == 1 and "the test is not in the baseline memory.json" in " ".join(run.stdout.split())
    assert json.loads((tmp_path / "memory.json").read_text()) == {"tests": {}}


def test_after_the_end_of_the_recording_a_test_is_not_measured(tmp_path):
    ends = TESTS.replace("KEPT = []", "import tapelens\nKEPT = [torch.zeros(8)]\ntapelens.stop()")
    run = session(tmp_path, "--tapelens", "-k", "within or small", tests=ends)
    assert run.code == 1 and "1 failed, 1 passed" in run.stdout and "tapelens.stop() was called" in run.stdout, run.stdout


def test_a_session_that_loses_data_fails(tmp_path):
    tests = """
import pytest
import torch

@pytest.mark.peak_memory("1 GiB")
def test_of_many_operators():
    for _ in range(40000):
        torch.ones(8) + 1
"""
    (tmp_path / "test_it.py").write_text(tests)
    pytest_command = [harness.PYTHON, "-m", "pytest", "-p", "tapelens.pytest_plugin", "-p", "no:cacheprovider", "--tapelens"]
    run = harness.record(pytest_command, tmp_path / "run.tapelens", ["--max-size", "1MiB"], env=ENVIRONMENT, cwd=tmp_path)
    assert run.code == 1 and "its memory was not measured: the recording is incomplete:" in " ".join(run.stdout.split()), run.stdout


def test_a_session_that_cannot_be_recorded_does_not_run(tmp_path):
    (tmp_path / "session.tapelens").mkdir()  # no recording can be written there: the command runs unrecorded
    run = session(tmp_path, "--tapelens", "--tapelens-output", "session.tapelens")
    assert run.code == 4 and "could not record this session" in run.stderr and "is a folder" in run.stderr, run.stderr
    assert "passed" not in run.stdout
    run = session(tmp_path, "--tapelens", "-p", "no:tapelens-measuring")
    assert run.code == 4 and "cannot measure with -p no:tapelens-measuring" in run.stderr + run.stdout


def test_skipped_and_deselected_tests_have_no_limit_but_are_said(tmp_path):
    skips = TESTS.replace("def test_above", "@pytest.mark.skip\ndef test_above")
    for workers in ([], ["-n", "2"]):
        run = session(tmp_path, "--tapelens", *workers, "-k", "within or above", tests=skips)
        assert run.code == 0 and "1 passed, 1 skipped" in run.stdout, run.stdout
        assert "1 with a limit skipped: test_it.py::test_above" in run.stdout
    assert session(tmp_path, "--tapelens", "-k", "nothing").code == 5
