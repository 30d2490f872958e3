"""Every command and the C library describe the same device, and its peak: a GPU before the CPU, then the largest peak.
The window's test is in tests/gui."""

import json
import subprocess

import pytest

import harness
import python_package  # noqa: F401, finds the package
import test_samples

import tapelens

LARGER_ON_CPU = harness.CASES / "larger_on_cpu.py"
MIB = 1 << 20
NO_LIMIT = ["--budget", "peak<=1PiB"]


def has_cuda():
    asked = "import torch; print(torch.version.cuda)"
    return harness.bare([harness.PYTHON, "-c", asked], check=True).stdout.strip() != "None"


@pytest.fixture
def needs_cuda():
    if not has_cuda():
        pytest.skip("this PyTorch is built without CUDA")


def of_command(*words):
    run = harness.bare([harness.BINARY, *words, "--format", "json"], check=True)
    return json.loads(run.stdout)


def described(target):
    """(device, peak) by command, of one recording."""
    peak = harness.report(target)["peak"]
    with tapelens.open(target) as recording:
        of_library = json.loads(recording.report("json"))["peak"]
    (rank,) = of_command("ranks", target)["ranks"]
    item = of_command("check", target, *NO_LIMIT)["checks"][0]
    assert harness.advise(target)["device"] == peak["device"]
    return {"report": (peak["device"], peak["bytes"]),
            "ranks": (rank["device"], rank["peak_bytes"]), "check": (item["device"], item["after"]),
            "library": (of_library["device"], of_library["bytes"])}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", test_samples.SAMPLES)
def test_a_sample_has_one_peak(name, target):
    harness.record([harness.PYTHON, *test_samples.sample(name)], target, check=True)
    found = described(target)
    assert len(set(found.values())) == 1, found
    assert found["report"][0] == "cpu"


def test_the_gpu_is_described_if_the_cpu_has_more(needs_cuda, target, tmp_path):
    harness.record([harness.PYTHON, LARGER_ON_CPU], target, ["--gpu", "H100:2GiB"], check=True)
    report = harness.report(target)
    devices = {device["device"]: device for device in report["processes"][0]["devices"]}
    gpu = devices["cuda:0"]
    assert devices["cpu"]["peak_bytes"] > 200 * MIB > 50 * MIB > gpu["peak_bytes"]
    assert set(described(target).values()) == {("cuda:0", gpu["peak_bytes"])}

    fit = harness.bare([harness.BINARY, "fit", "--format", "json", "--gpu", "H100:2GiB", "--vary", "1", "--steps", "3",
                        "--", harness.PYTHON, LARGER_ON_CPU, "{}", "--steps", "100"], check=True)
    (point,) = json.loads(fit.stdout)["series"][0]["points"]
    assert point["allocated_bytes"] == gpu["allocated_peak_bytes"], fit
    assert point["reserved_bytes"] == gpu["reserved_peak_bytes"], fit

    budget = harness.bare([harness.BINARY, "budget", "--format", "json", "--gpu", "H100:2GiB", "--budgets", "0.5", "--steps", "3",
                           "--keep", tmp_path, "--", harness.PYTHON, LARGER_ON_CPU, "--compile"], timeout=600)
    measured = json.loads(budget.stdout)
    assert measured["device"] == "cuda:0", budget
    for point, name in zip(measured["points"], ("1", "0.5"), strict=True):
        kept = described(tmp_path / f"budget-{name}.tapelens")
        assert set(kept.values()) == {("cuda:0", point["peak_bytes"])}, kept


def test_a_limit_names_the_device_that_is_above_it(needs_cuda, target):
    harness.record([harness.PYTHON, LARGER_ON_CPU], target, ["--gpu", "H100:2GiB"], check=True)
    done = subprocess.run([harness.BINARY, "report", target, "--fail-above", "100MiB"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 1
    assert "the peak on cpu, 20" in done.stderr and "is above 100.0 MiB" in done.stderr, done.stderr
    assert "on cuda:0" in done.stdout
