"""`tapelens fit` on small programs and small simulated GPUs: a bare run with the found size fits on that GPU, and a run
with the next size does not."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import harness

FITS = harness.CASES / "fits.py"
MIB = 1 << 20


def has_cuda():
    asked = "import torch; print(torch.version.cuda)"
    return harness.bare([harness.PYTHON, "-c", asked], check=True).stdout.strip() != "None"


pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def fit(options, program, code=0, timeout=600):
    """Runs the command and returns its JSON."""
    run = harness.bare([harness.BINARY, "fit", "--format", "json", *options, "--", harness.PYTHON, FITS, *program],
                       timeout=timeout)
    assert run.code == code, f"{run.code}:\n{run.stdout}{run.stderr}"
    return json.loads(run.stdout)


def fits_bare(gpu, *program):
    """Whether three steps of the program succeed on that GPU, by the program's exit code and error."""
    run = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", gpu, "--", harness.PYTHON, FITS, *program,
                        "--steps", "3"])
    if run.code != 0:
        assert "CUDA out of memory" in run.stderr, run.stderr
    return run.code == 0


def point(series, size):
    return next(point for point in series["points"] if point["size"] == size)


def test_the_largest_fits_when_it_runs_bare_and_one_more_does_not():
    found = fit(["--gpu", "H100:512MiB,T4:1GiB", "--vary", "8..256:8"], ["even", "{}"])
    for series in found["series"]:
        largest, gpu = series["largest"], series["gpu"]
        assert series["settled"] and series["smallest_too_large"] == largest + 8
        assert fits_bare(gpu, "even", largest)
        assert not fits_bare(gpu, "even", largest + 8)
        for one in series["points"]:
            assert one["fits"] == (one["size"] <= largest)
            assert one["allocated_bytes"] <= one["reserved_bytes"] <= series["memory_bytes"]
            if one["fits"]:
                assert one["steps"] == 3 and one["ended_by_tapelens"]
                assert one["headroom_bytes"] == series["memory_bytes"] - one["reserved_bytes"]
            else:
                assert one["why"].startswith("cuda:0 had no room for "), one["why"]


def test_the_peak_is_pytorchs_own_count():
    found = fit(["--gpu", "H100:2GiB", "--vary", "8"], ["even", "{}"])
    asked = ("import sys, torch; sys.argv = ['fits.py', 'even', '8', '--steps', '3']; "
             f"exec(open({str(FITS)!r}).read()); "
             "print(torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())")
    run = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", "H100:2GiB", "--", harness.PYTHON, "-c", asked],
                       check=True)
    counted = [int(word) for word in run.stdout.split()]
    assert [found["series"][0]["points"][0][key] for key in ("allocated_bytes", "reserved_bytes")] == counted


def test_without_sizes_it_says_whether_the_program_fits_as_it_is():
    found = fit(["--gpu", "H100:512MiB,H100:128MiB"], ["endless", "16"])
    assert [series["answer"] for series in found["series"]] == ["It fits.", "It does not fit."]
    assert [series["any_fits"] for series in found["series"]] == [True, False]
    none = fit(["--gpu", "H100:128MiB"], ["endless", "16"], code=1)
    assert none["series"][0]["points"][0]["fits"] is False


def test_runs_that_fail_in_another_way_are_never_counted():
    found = fit(["--gpu", "H100:512MiB", "--vary", "7,8,9", "--all"], ["even", "{}"])
    series = found["series"][0]
    assert [one["outcome"] for one in series["points"]] == ["failed", "fits", "failed"]
    assert point(series, 7)["exit_code"] == 1 and "ValueError: 7 is odd" in point(series, 7)["last_words"]
    assert point(series, 7)["fits"] is None
    assert not series["settled"] and series["answer"] == "At least 8 fits. Of 9 it is not known."
    failed = fit(["--gpu", "H100:512MiB", "--vary", "7"], ["even", "{}"], code=6)
    assert failed["series"][0]["answer"] == "None is known to fit. Of 7 it is not known."


def test_a_request_that_the_program_survived_did_not_fit():
    found = fit(["--gpu", "H100:512MiB"], ["catches", "512"], code=1)
    one = found["series"][0]["points"][0]
    assert one["fits"] is False and one["went_on"]


def test_a_program_without_steps_runs_to_its_end():
    found = fit(["--gpu", "H100:512MiB"], ["inference", "8"])
    one = found["series"][0]["points"][0]
    assert one["fits"] and one["exit_code"] == 0 and one["steps"] == 0 and not one["ended_by_tapelens"]
    assert "No step of an optimizer ended" in found["series"][0]["remarks"][0]


def test_a_peak_that_still_grows_is_said():
    found = fit(["--gpu", "H100:2GiB"], ["grows", "1"])
    assert found["series"][0]["points"][0]["peak_still_grew"]
    assert any("still grew in the last of 3 steps" in remark for remark in found["series"][0]["remarks"])


def test_a_run_that_comes_to_no_end_is_not_known():
    found = fit(["--gpu", "H100:512MiB", "--limit", "20s"], ["stuck", "1"], code=6)
    one = found["series"][0]["points"][0]
    assert one["outcome"] == "cut_off" and one["fits"] is None
    assert one["steps"] < 3 and one["why"].endswith(" of 3 had ended when its time was up (--limit)")


def is_running(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_nothing_that_the_program_started_runs_on(tmp_path):
    left = tmp_path / "left"
    fit(["--gpu", "H100:512MiB"], ["leaves", "1", "--leave", left])
    pids = left.read_text(encoding="utf-8").split()
    assert len(pids) == 2 and not any(map(is_running, pids))


def test_an_interrupt_ends_the_program_and_says_what_is_known(tmp_path):
    left = tmp_path / "left"
    command = [harness.BINARY, "fit", "--gpu", "H100:512MiB", "--steps", "all", "--", harness.PYTHON, FITS, "leaves", "1",
               "--leave", left]
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, text=True, env=harness.environment()) as run:
        while not left.exists() or len(left.read_text(encoding="utf-8").split()) < 2:
            time.sleep(0.1)
        run.send_signal(signal.SIGINT)
        output = run.communicate(timeout=60)[0]
    assert run.returncode == 130
    assert "It is not known whether it fits: it was not run." in output and "Interrupted" in output
    assert not any(map(is_running, left.read_text(encoding="utf-8").split()))


def test_recordings_are_kept_where_they_are_wanted(tmp_path):
    fit(["--gpu", "H100:512MiB", "--vary", "4,512", "--all", "--keep", tmp_path / "runs"], ["even", "{}"])
    assert sorted(os.listdir(tmp_path / "runs")) == ["H100_512MiB-4.log", "H100_512MiB-4.tapelens", "H100_512MiB-512.log",
                                                     "H100_512MiB-512.tapelens"]
    assert len(harness.report(tmp_path / "runs/H100_512MiB-4.tapelens")["steps"]) == 3
    full = harness.report(tmp_path / "runs/H100_512MiB-512.tapelens")
    assert full["processes"][0]["out_of_memory"]


def test_what_the_command_writes_is_hidden_or_shown(tmp_path):
    command = [harness.BINARY, "fit", "--gpu", "H100:512MiB", "--vary", "2"]
    program = ["--", harness.PYTHON, "-c", "import torch; print('written'); torch.ones(4, device='cuda') + {}"]
    hidden = harness.bare([*command, *program])
    assert hidden.code == 0 and "written" not in hidden.stdout + hidden.stderr
    shown = harness.bare([*command, "--verbose", *program])
    assert shown.code == 0 and "written" in shown.stderr and "written" not in shown.stdout


def test_a_program_that_uses_no_gpu_is_not_known():
    run = harness.bare([harness.BINARY, "fit", "--gpu", "H100", "--", harness.PYTHON, "-c",
                        "import torch; torch.ones(4) + 1"])
    assert run.code == 6 and "failed: it allocated nothing on a GPU" in run.stdout


def test_torchruns_workers_are_measured_and_ended():
    command = [harness.BINARY, "fit", "--format", "json", "--gpu", "H100:512MiBx2", "--", *harness.torchrun(FITS, "endless", "4")]
    run = harness.bare(command, timeout=600)
    assert run.code == 0, run.stdout + run.stderr
    one = json.loads(run.stdout)["series"][0]["points"][0]
    assert one["fits"] and one["steps"] == 3 and one["ended_by_tapelens"]


def test_auto_searches_with_the_memory_of_the_host_if_that_is_given():
    program = [harness.PYTHON, harness.ROOT / "samples/cuda/gpt.py", "--layers", "12", "--width", "256", "--vocabulary", "1000", "--batch", "{}"]
    run = harness.bare([harness.BINARY, "fit", "--gpu", "H100:490MiB", "--vary", "2,4,6,8", "--apply", "auto", "--host-memory", "200MiB",
                        "--format", "json", "--", *program], timeout=900)
    assert run.code == 0, run.stderr
    series = json.loads(run.stdout)["series"]
    assert [one["apply"] for one in series] == [None, "bitwise", "auto", "auto and offload"]
    largest = [one["largest"] or 0 for one in series]
    assert largest == sorted(largest) and largest[0] < largest[-1] == 8, largest
