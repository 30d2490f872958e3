"""CUDA memory in a recording equals the counts of PyTorch's allocator, to the byte. Programs on a simulated GPU write
torch.cuda.memory_stats() at their end (cases/cuda_stats.py), and the tests compare the recording with them."""

import json

import pytest

import harness
import tables
from cuda_counts import FIGURES, SETTINGS, compared, environment, events_of, first_difference, named, of_gpus

MIB = 1 << 20

# The command after cases/, the GPU, and the memory fraction: small enough for garbage collection to begin.
PROGRAMS = {
    "samples": (["cuda_samples.py", harness.SAMPLES], "H100", 0.002),
    "models": (["cuda_models.py"], "H100", 0.02),
    "examples": (["cuda_examples.py"], "A100-80GB", 0.05),
    "loops": (["cuda_loops.py"], "H100", 0.02),
    "memory": (["cuda_memory.py"], "H100:2GiBx2", 0.5),
    "full": (["cuda_memory.py", "many_sizes", "full_gpu"], "T4:2GiB", 0.5),
    "compiled": (["cuda_compiled.py"], "H100", 0.002),
    "sequence": (["cuda_sequence.py"], "T4:2GiB", 0.5),
}
# PyTorch counts little of backend:cudaMallocAsync.
COUNTED = [setting for setting in SETTINGS if setting != "async"]


def has_cuda():
    asked = "import torch; print(torch.version.cuda)"
    return harness.bare([harness.PYTHON, "-c", asked], check=True).stdout.strip() != "None"


pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def recorded(name, setting, target, tmp_path):
    """Records one of PROGRAMS and returns PyTorch's counts and the report."""
    (file, *arguments), gpu, fraction = PROGRAMS[name]
    out = tmp_path / "stats.json"
    run = harness.record([harness.PYTHON, harness.CASES / file, *arguments], target, ["--gpu", gpu],
                         env=environment(setting, out, tmp_path.parent / "caches", fraction), timeout=600)
    assert run.code == 0, f"{name} ended with {run.code}:\n{run.stdout}{run.stderr}"
    assert run.stdout.splitlines()[-1] == "done"
    report = harness.report(target)
    assert harness.lost(report, {"forked_child"}) == []
    return json.loads(out.read_text(encoding="utf-8")), report


@pytest.mark.sampled(5)
@pytest.mark.parametrize("setting", COUNTED)
@pytest.mark.parametrize("name", ["samples", "models", "examples", "loops", "compiled"])
def test_a_program_has_the_peaks_and_counts_of_pytorchs_allocator(name, setting, target, tmp_path):
    counted, report = recorded(name, setting, target, tmp_path)
    assert counted["devices"][0]["allocation.all.allocated"] > 100
    wanted, found = compared(counted, report)
    assert found == wanted


@pytest.mark.parametrize("setting", COUNTED)
def test_streams_pools_graphs_and_several_gpus_are_counted_as_pytorch_does(setting, target, tmp_path):
    counted, report = recorded("memory", setting, target, tmp_path)
    first, second = counted["devices"]
    # Blocks that wait for the end of a capture are active and requested, but not allocated.
    assert first["active_bytes.all.peak"] > first["requested_bytes.all.peak"] > first["allocated_bytes.all.peak"]
    assert second["allocation.all.allocated"] > 0
    wanted, found = compared(counted, report)
    assert found == wanted


@pytest.mark.parametrize("setting", COUNTED)
def test_a_gpu_that_was_full_is_counted_as_pytorch_does(setting, target, tmp_path):
    counted, report = recorded("full", setting, target, tmp_path)
    assert counted["devices"][0]["num_ooms"] == 2
    wanted, found = compared(counted, report)
    assert found == wanted


def test_of_the_drivers_own_pool_nothing_is_said_that_is_not_known(target, tmp_path):
    """With backend:cudaMallocAsync a number may be missing, but not wrong."""
    counted, report = recorded("examples", "async", target, tmp_path)
    assert counted["devices"][0]["allocated_bytes.all.peak"] > 100 * MIB
    for number, figures in of_gpus(report, counted["pid"]).items():
        for figure, name in FIGURES.items():
            assert figures.get(figure) in (None, counted["devices"][number][name]), figure


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", [["--compile"], []])
def test_an_8b_model_as_rank_0_of_8_is_counted_as_pytorch_does(how, target, tmp_path):
    """The full sample with 20 GiB of a GPU. The compiled sample takes a minute on a slow machine, half of it in the
    compiler."""
    out = tmp_path / "stats.json"
    program = [harness.CASES / "cuda_run.py", harness.SAMPLES / "cuda/fsdp_llama8b.py", *how]
    run = harness.record([harness.PYTHON, *program], target, ["--gpu", "H100", "--world", "8"],
                         env=environment("default", out, tmp_path, 1), timeout=600)
    assert run.code == 0, run.stderr
    report = harness.report(target)
    assert harness.lost(report) == []
    wanted, found = compared(json.loads(out.read_text(encoding="utf-8")), report)
    assert found == wanted
    assert wanted[0]["peak_bytes"] > 20 << 30
    assert report["processes"][0]["outside_estimate"]["nccl_communicators"] == [8]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("time", range(12))
@pytest.mark.parametrize("how", ["warm", "cold", "older"])
def test_threads_that_begin_to_use_cuda_at_once_are_counted_as_pytorch_does(how, time, target, tmp_path):
    """One thread starts the recording of the allocator. Each block of another thread is recorded once, with its
    requested size."""
    out = tmp_path / "stats.json"
    setting = "expandable" if time % 2 else "default"
    run = harness.record([harness.PYTHON, harness.CASES / "cuda_first_use.py", how], target, ["--gpu", "H100x2"],
                         env=environment(setting, out, tmp_path, 1), timeout=120)
    assert run.code == 0, run.stderr
    report = harness.report(target)
    assert harness.lost(report) == []
    wanted, found = compared(json.loads(out.read_text(encoding="utf-8")), report)
    if how != "warm":  # blocks from before the recording are not counted as allocations
        for figures in (*wanted.values(), *found.values()):
            del figures["allocations"], figures["segments"]
    assert found == wanted


@pytest.mark.parametrize("setting", ["default", "expandable"])
def test_the_events_are_those_of_pytorchs_own_history_in_its_order(setting, target, tmp_path):
    counted, _ = recorded("sequence", setting, target, tmp_path)
    wanted = named(counted["traces"][0])
    assert len(wanted) > 3000
    found = events_of(tables.Recording(target), counted["pid"], "cuda:0")
    assert first_difference(found, wanted) is None


def test_the_reader_of_tables_reads_what_the_report_says(target):
    """Reads the CPU's memory of a recording, to exclude errors of `tables` in the tests above."""
    _, report = harness.record_and_report([harness.PYTHON, harness.SAMPLES / "gpt.py"], target)
    recording = tables.Recording(target)
    process, = report["processes"]
    device, = process["devices"]
    cpu = recording.column("devices", "name").index(recording.strings().index("cpu")) + 1
    made = recording.rows("allocations", ["device", "bytes", "time", "origin"], process["pid"])
    ends = dict(recording.rows("frees", ["allocation", "time"], process["pid"]))
    own = {row: (size, time) for row, (of, size, time, origin) in enumerate(made, 1) if of == cpu and origin == 0}
    assert (device["device"], device["allocations"], device["frees"]) == ("cpu", len(own), len(own.keys() & ends.keys()))
    assert device["live_at_end_bytes"] == sum(size for row, (size, _) in own.items() if row not in ends)
    changes = sorted([(time, 1, size) for size, time in own.values()] + [(ends[row], 0, -own[row][0]) for row in own.keys() & ends.keys()])
    live = peak = 0
    for _, _, size in changes:
        live += size
        peak = max(peak, live)
    assert peak == device["peak_bytes"]
