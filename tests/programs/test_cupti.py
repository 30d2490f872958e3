"""Memory outside of PyTorch's allocator (`record --cupti`): for a library that takes device memory itself, the
recording equals the count of the library's caller, for any behaviour of CUPTI. If CUPTI refuses, the program is
unharmed."""

import json
import os

import pytest

import harness
from test_cuda import has_cuda

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
LIBRARY = os.environ.get("TAPELENS_OUTSIDE_CUDA", "")
GPU = ["--gpu", "H100:4GiB"]


def run(target, tmp_path, how="", what="plain", options=("--cupti",), quiet=False, settings=""):
    """The program's counts, its run, and the report."""
    counts = tmp_path / "counts.json"
    env = {"OUTSIDE_LIBRARY": LIBRARY, "OUTSIDE_COUNTS": str(counts), "TAPELENS_SIMULATED_CUPTI": how, "PYTORCH_CUDA_ALLOC_CONF": settings}
    program = "cuda_outside.py" if what in ("plain", "profiled") else "cuda_outside_ways.py"
    command = [harness.PYTHON, harness.CASES / program, what]
    # harness.environment leaves out variables of Tapelens: this one is of the simulated GPU.
    done = harness.record(command, target, [*GPU, *options], quiet=quiet, env=env, timeout=600)
    assert done.code == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "done"
    return json.loads(counts.read_text(encoding="utf-8")), done, harness.report(target)


def said(done):
    return [line for line in done.stderr.splitlines() if "--cupti" in line]


def of_library(report):
    libraries = {one["library"]: one for one in report["peak"]["outside"]["libraries"]}
    return libraries.get(LIBRARY) or libraries.get(None)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", ["", "reversed", "unknown", "no_source", "reversed,unknown"])
def test_each_allocation_is_accounted_for(how, target, tmp_path):
    counted, done, report = run(target, tmp_path, how)
    outside = report["peak"]["outside"]
    found = of_library(report)
    assert found["library"] == (None if how == "no_source" else LIBRARY)
    assert (found["bytes"], found["peak_bytes"], found["allocations"]) == (
        counted["at_peak"], counted["most"], counted["taken"])
    # PyTorch's own segments belong to no other library.
    assert (outside["bytes"], outside["peak_bytes"]) == (counted["at_peak"], counted["most"])
    assert outside["host_peak_bytes"] == counted["pinned"]
    assert outside["until_ns"] is None
    assert said(done) == [] and harness.lost(report) == []


@pytest.mark.parametrize("how", ["", "reversed"])
def test_it_adds_up_to_what_is_in_use(how, target, tmp_path):
    counted, _, report = run(target, tmp_path, how)
    use = report["peak"]["outside"]["device_use"]
    assert use["used_bytes"] == counted["used"]
    assert use["not_accounted_bytes"] == 0
    assert use["outside_bytes"] == counted["at_peak"]


# Memory that a library and PyTorch create, map and release by handles.
@pytest.mark.sampled(3)
@pytest.mark.parametrize("settings", ["", "expandable_segments:True"])
@pytest.mark.parametrize("how", ["", "reversed", "unknown", "no_source"])
def test_physical_memory_is_accounted_for(how, settings, target, tmp_path):
    counted, done, report = run(target, tmp_path, how, "physical", settings=settings)
    outside = report["peak"]["outside"]
    found = of_library(report)
    assert found["library"] == LIBRARY  # the stack shows the library that made it
    assert (found["bytes"], found["peak_bytes"], found["allocations"]) == (
        counted["at_peak"], counted["most"], counted["taken"])
    assert (outside["bytes"], outside["peak_bytes"]) == (counted["at_peak"], counted["most"])
    assert outside["device_use"]["used_bytes"] == counted["used"]
    assert outside["device_use"]["not_accounted_bytes"] == 0
    assert said(done) == [] and harness.lost(report) == []


@pytest.mark.parametrize("settings", ["", "expandable_segments:True"])
def test_where_nobody_else_takes_any_nothing_is_outside(settings, target):
    program = "import torch\nfor n in range(40): torch.ones(n << 20, device='cuda').sum()\ntorch.cuda.empty_cache()"
    env = {"PYTORCH_CUDA_ALLOC_CONF": settings}
    done = harness.record([harness.PYTHON, "-c", program], target, [*GPU, "--cupti"], quiet=False, env=env)
    assert done.code == 0 and said(done) == []
    assert harness.report(target)["peak"]["outside"]["libraries"] == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", ["", "reversed", "unknown", "reversed,unknown"])
def test_what_pools_keep_is_accounted_for(how, target, tmp_path):
    counted, done, report = run(target, tmp_path, how, "pools")
    outside = report["peak"]["outside"]
    found = of_library(report)
    assert (found["bytes"], found["peak_bytes"], found["allocations"]) == (
        counted["at_peak"], counted["most"], counted["taken"])
    assert counted["reserved"] > counted["handed_out"] == counted["at_peak"] > 0
    assert outside["pools"]["reserved_bytes"] == counted["reserved"]
    assert outside["pools"]["unused_bytes"] == counted["reserved"] - counted["handed_out"]
    assert outside["device_use"]["pools_unused_bytes"] == outside["pools"]["unused_bytes"]
    assert outside["device_use"]["used_bytes"] == counted["used"]
    assert outside["device_use"]["not_accounted_bytes"] == 0
    assert said(done) == [] and harness.lost(report) == []


def test_of_a_cupti_that_tells_less_pools_are_in_what_remains(target, tmp_path):
    counted, _, report = run(target, tmp_path, "no_source", "pools")
    outside = report["peak"]["outside"]
    assert outside["pools"] is None
    assert outside["device_use"]["not_accounted_bytes"] == counted["reserved"] - counted["handed_out"]


@pytest.mark.parametrize("how", ["", "reversed"])
def test_the_operator_line_and_module_of_a_librarys_first_are_known(how, target, tmp_path):
    counted, _, report = run(target, tmp_path, how, "inside")
    found = of_library(report)
    assert (found["bytes"], found["allocations"]) == (counted["at_peak"], counted["taken"])
    first = found["first"]
    assert first["operator"] == "outside::take"  # an earlier one has no operator; a later one is physical memory
    line = next(number for number, text in enumerate((harness.CASES / "cuda_outside_ways.py").read_text().splitlines(), 1)
                if "return take(x" in text)
    assert first["source"].startswith(f"cuda_outside_ways.py:{line} ")
    assert first["module"].endswith("1")
    text = harness.bare([harness.BINARY, "report", target]).stdout
    assert f"first in outside::take at {first['source']}, module {first['module']}" in text


def test_what_was_dropped_is_counted(target, tmp_path):
    counted, _, report = run(target, tmp_path, "drops")
    lost, = harness.lost(report)
    assert lost["kind"] == "dropped_activity" and lost["count"] > 10
    assert not report["recording"]["complete"]
    found = of_library(report)
    assert 0 < found["allocations"] < counted["taken"]


REFUSALS = {
    "no_memory2": "cannot report memory",
    "no_callbacks": "CUPTI_ERROR_UNKNOWN",
    "refused": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    "held": "Nsight Systems",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("how", REFUSALS)
def test_where_cupti_refuses_one_line_says_so_and_the_rest_is_recorded(how, target, tmp_path):
    _, done, report = run(target, tmp_path, how)
    line, = said(done)
    assert REFUSALS[how] in line
    process, = report["processes"]
    assert REFUSALS[how] in process["cupti"]
    assert report["peak"]["outside"] is None
    assert report["peak"]["bytes"] >= 512 << 20
    assert harness.lost(report) == []


def test_the_programs_own_profiler_gets_cupti(target, tmp_path):
    counted, done, report = run(target, tmp_path, what="profiled")
    line, = said(done)
    assert "torch.profiler" in line
    outside = report["peak"]["outside"]
    assert outside["until_ns"] is not None
    assert of_library(report)["allocations"] == counted["before"]["taken"]
    bare = harness.bare(harness.recording([harness.PYTHON, harness.CASES / "cuda_outside.py", "profiled"], target, GPU),
                        env={"OUTSIDE_LIBRARY": LIBRARY}, timeout=600)
    assert done.stdout == bare.stdout


def test_without_the_option_nothing_of_it_is_there(target, tmp_path):
    _, done, report = run(target, tmp_path, options=())
    assert said(done) == []
    assert report["peak"]["outside"] is None and report["processes"][0]["cupti"] is None


def test_without_cuda_nothing_is_said(target):
    done = harness.record([harness.PYTHON, "-c", "import torch; print(torch.ones(3).sum())"], target, ["--cupti"], quiet=False)
    assert done.code == 0 and said(done) == []


def test_the_script_for_real_gpus_adds_up_on_a_simulated_one():
    script = [harness.PYTHON, harness.ROOT / "bench/on_gpu.py", "cupti", "--simulate-gpu", "H100", "--binary", harness.BINARY]
    done = harness.bare(script)
    assert done.code == 0, done.stdout + done.stderr
    assert done.stdout.count("| +0.000% |") == 2
