"""`tapelens run --fit`: short runs find the cheapest rewrites with which a program needs at most the given memory. Then
the program runs with them, has the same output, and needs no more."""

import json
import re

import pytest

import harness
from test_cuda import has_cuda

PROGRAM = [harness.PYTHON, harness.ROOT / "samples/gpt.py", "--size", "medium", "--steps", "3"]
GPU_PROGRAM = [*PROGRAM, "--device", "cuda"]
# Much activation memory, and little for parameters.
ACTIVATIONS = [harness.PYTHON, harness.ROOT / "samples/cuda/gpt.py", "--layers", "12", "--width", "256", "--vocabulary", "1000", "--batch", "8"]
MIB = 1 << 20


def fitted(size, program, *options, code=0, cache=None, **more):
    """`cache`: the folder of kept plans; without it every plan is new."""
    kept = ["--no-cache"] if cache is None else []
    run = harness.bare([harness.BINARY, "run", "--fit", str(size), *kept, *options, "--", *program], timeout=600,
                       env={"XDG_CACHE_HOME": str(cache)} if cache else None, **more)
    assert run.code == code, f"{run.code}:\n{run.stdout}{run.stderr}"
    return run


def options_in(said):
    found = re.search(r"fits in .* with (--apply [^:]*): it needs ", said)
    return found[1].split() if found else []


def peak(program, folder, *options):
    _, report = harness.record_and_report(program, folder / "-".join(["run", *options]).replace("%", "").replace("/", "-"), options)
    return report["peak"]["bytes"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("part, level", [(0.7, "bitwise"), (0.5, "recompute")])
def test_a_program_on_the_cpu_runs_with_the_same_output_in_less_memory(part, level, tmp_path):
    stock = peak(PROGRAM, tmp_path)
    size = int(part * stock)
    run = fitted(size, PROGRAM)
    chosen = options_in(run.stderr)
    assert chosen[:2] == ["--apply", level], run.stderr
    assert run.stdout == harness.bare(PROGRAM).stdout
    assert peak(PROGRAM, tmp_path, *chosen) <= size
    assert "rewrote" in run.stderr


def test_a_plan_is_written_for_another_run_and_verified(tmp_path):
    stock = peak(PROGRAM, tmp_path)
    plan = tmp_path / "plan.json"
    run = fitted(int(0.5 * stock), PROGRAM, "--write-plan", plan)
    assert run.stdout == "" and f"wrote {plan}. Next: tapelens run --apply {plan} -- " in run.stderr
    written = json.loads(plan.read_text())
    assert written["level"] == "recompute" and 0.05 <= written["recompute_budget"] <= 0.34
    predicted = written["predicted"]
    assert predicted["bytes"] <= predicted["size_bytes"] == int(0.5 * stock) < predicted["bytes_without_rewrites"]
    assert predicted["memory"] == "peak" and predicted["gpu"] is None and 0 < predicted["state_bytes"] < predicted["bytes"]
    assert abs(peak(PROGRAM, tmp_path, "--apply", str(plan)) - predicted["bytes"]) <= 0.01 * stock
    verified = harness.bare([harness.BINARY, "verify", "--fit", str(int(0.5 * stock)), "--", *PROGRAM], timeout=600)
    assert verified.code == 0, verified.stderr
    assert "Identical, bit for bit" in verified.stdout
    assert re.search(r"the peak of the whole run, .* MiB, is within ", verified.stderr)


def test_a_program_that_fits_runs_without_rewrites():
    run = fitted("4GiB", PROGRAM)
    assert "fits in 4.0 GiB without rewrites" in run.stderr
    assert "rewrote" not in run.stderr
    assert run.stdout == harness.bare(PROGRAM).stdout
    verified = harness.bare([harness.BINARY, "verify", "--fit", "4GiB", "--", *PROGRAM], timeout=600)
    assert verified.code == 5 and "nothing to verify: the command needs no rewrites" in verified.stderr


def test_too_little_memory_runs_nothing_and_names_the_least():
    run = fitted("32MiB", PROGRAM, code=1)
    assert run.stdout == ""
    assert re.search(r"does not fit in 32\.0 MiB: the least is \d+\.\d MiB, with --apply recompute", run.stderr), run.stderr


def test_a_program_that_fails_has_no_plan_and_its_last_words_are_shown():
    run = fitted("1GiB", [harness.PYTHON, "-c", "import torch; torch.ones(2).relu(); raise ValueError('no data')"], code=6)
    assert "no plan, because the run without rewrites failed: exit code 1" in run.stderr
    assert "ValueError: no data" in run.stderr


def test_the_choice_of_rewrites_is_the_commands():
    run = harness.bare([harness.BINARY, "run", "--fit", "1GiB", "--apply", "bitwise", "--", *PROGRAM])
    assert run.code == 2 and "--fit" in run.stderr
    assert harness.bare([harness.BINARY, "run", "--fit", "much", "--", *PROGRAM]).code == 2
    without_unit = harness.bare([harness.BINARY, "run", "--fit", "24", "--", *PROGRAM])
    assert without_unit.code == 2 and "'24' is 24 B: give a size with its unit, like 24GiB" in without_unit.stderr


def small_program(folder):
    """A program of two files, of which `bitwise` halves the peak."""
    (folder / "sizes.py").write_text("ROWS, WIDTH = 20_000, 64\n")
    (folder / "train.py").write_text(
        "import torch\nfrom sizes import ROWS, WIDTH\n\ntorch.manual_seed(0)\n"
        "layers = [layer for _ in range(8) for layer in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU())]\n"
        "model = torch.nn.Sequential(*layers)\nbatch = torch.randn(ROWS, WIDTH)\n"
        "for _ in range(3):\n    loss = model(batch).square().mean()\n    loss.backward()\n    print(loss.item())\n")
    return [harness.PYTHON, "train.py"]


def test_a_plan_is_used_again_until_the_program_changes(tmp_path):
    program, cache = small_program(tmp_path), tmp_path / "cache"
    output = harness.bare(program, cwd=tmp_path).stdout

    def again(size, *options):
        """(the options of a kept plan, the options of a new plan)"""
        run = fitted(size, program, *options, cache=cache, cwd=tmp_path)
        assert run.stdout == output
        used = re.search(r"uses the plan of \d{4}-\d\d-\d\d \d\d:\d\d, (.*), which needs .*; --replan makes a new one", run.stderr)
        made = re.search(r"fits in .* (?:with (--apply [^:]*)|(without rewrites)): it needs ", run.stderr)
        assert bool(used) != bool(made), run.stderr
        return used and used[1], made and (made[1] or made[2])

    size = int(0.9 * peak([harness.PYTHON, tmp_path / "train.py"], tmp_path))
    nothing, rewrites = again(size)
    assert nothing is None and rewrites.startswith("--apply ")
    assert again(size) == (rewrites, None)

    made, used = (None, "without rewrites"), ("without rewrites", None)
    assert again("1GiB") == made
    assert again("1GiB") == used
    assert again("1GiB", "--replan") == made
    with (tmp_path / "sizes.py").open("a") as module:
        module.write("# another program\n")
    assert again("1GiB") == made
    assert again("1GiB") == used
    for kept in (cache / "tapelens/plans").iterdir():
        kept.write_text(kept.read_text()[:100])
    assert again("1GiB", "--no-cache") == made
    assert again("1GiB") == made
    assert again("1GiB") == used


def test_a_cache_that_cannot_be_written_is_ignored(tmp_path):
    program, cache = small_program(tmp_path), tmp_path / "cache"
    cache.write_text("a file, not a folder")
    for _ in range(2):
        run = fitted("1GiB", program, cache=cache, cwd=tmp_path)
        assert "fits in 1.0 GiB without rewrites" in run.stderr and "cache" not in run.stderr
        assert run.stdout == harness.bare(program, cwd=tmp_path).stdout


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_the_memory_of_the_host_is_a_limit_of_the_plan(tmp_path):
    plan = tmp_path / "plan.json"
    run = fitted("400MiB", ACTIVATIONS, "--gpu", "H100", "--host-memory", "200MiB", "--write-plan", plan)
    written = json.loads(plan.read_text())
    assert written["allow"] == ["offload"] and written["host_memory_bytes"] == 200 * MIB
    assert "--allow offload --host-memory 209715200: it needs" in run.stderr
    none = fitted("400MiB", ACTIVATIONS, "--gpu", "H100", "--host-memory", "0", code=1)
    assert "offload" not in none.stderr and "does not fit in" in none.stderr


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_the_size_may_be_the_memory_of_the_gpu(tmp_path):
    plan = tmp_path / "plan.json"
    run = fitted("gpu", GPU_PROGRAM, "--gpu", "H100:1GiB", "--write-plan", plan)
    assert "NVIDIA H100 80GB HBM3 has 1.0 GiB; without CUDA's context and the memory in use, 256.0 MiB are left" in run.stderr
    assert json.loads(plan.read_text())["predicted"]["size_bytes"] == 256 * MIB
    none = harness.bare([harness.BINARY, "run", "--fit", "gpu", "--gpu", "H100:700MiB", "--", *GPU_PROGRAM])
    assert none.code == 2 and "too little memory" in none.stderr
    absent = harness.bare([harness.BINARY, "run", "--fit", "gpu", "--", *GPU_PROGRAM])
    assert absent.code == 2 and "finds no GPU of NVIDIA here" in absent.stderr


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_a_program_of_this_machines_gpu_is_planned_on_a_simulated_one(tmp_path):
    """The outer simulation stands for the machine's GPU, and its library for NVML."""
    here = [harness.BINARY, "run", "--gpu", f"H100:{120 * MIB}", "--", harness.BINARY, "run", "--fit", "120MiB", "--no-cache"]
    run = harness.bare([*here, "--", *GPU_PROGRAM], timeout=600)
    assert run.code == 0, run.stderr
    assert "plans on a simulated NVIDIA H100 80GB HBM3, then runs the command on this machine's" in run.stderr
    assert options_in(run.stderr)[:2] == ["--apply", "recompute"], run.stderr
    assert run.stdout.startswith("step 0 loss ") and "rewrote" in run.stderr
    on_device = harness.bare([*here, "--plan-on-device", "--write-plan", tmp_path / "plan.json", "--", *GPU_PROGRAM], timeout=600)
    assert "simulated" not in on_device.stderr


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
def test_a_program_of_a_simulated_gpu_fits_into_a_smaller_one():
    full = harness.bare([harness.BINARY, "run", "--gpu", f"H100:{120 * MIB}", "--", *GPU_PROGRAM])
    assert full.code != 0 and "out of memory" in full.stderr
    run = fitted("120MiB", GPU_PROGRAM, "--gpu", "H100")
    chosen = options_in(run.stderr)
    assert chosen[:2] == ["--apply", "recompute"], run.stderr
    small = harness.bare([harness.BINARY, "run", "--gpu", f"H100:{120 * MIB}", *chosen, "--", *GPU_PROGRAM])
    assert small.code == 0, small.stderr
    assert small.stdout == run.stdout
