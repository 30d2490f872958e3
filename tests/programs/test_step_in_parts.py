"""The rewrite optimizer-temporaries: foreach steps in parts. Programs run bare and with it; the results are compared."""

import pytest

import harness
from test_cuda import has_cuda

PROGRAM = harness.CASES / "steps_in_parts.py"
REWRITE = "optimizer-temporaries"


def on_cpu(function, tmp_path):
    command = [harness.PYTHON, "-W", "ignore", PROGRAM, "cpu", function]
    bare = harness.bare(command, check=True)
    (tmp_path / "tally").mkdir()
    run = harness.bare(command, env={"LD_PRELOAD": str(harness.INJECT), "TAPELENS_REWRITE": "1", "TAPELENS_ALLOW": REWRITE,
                                     "TAPELENS_REWRITE_MIN_BYTES": "1", "TAPELENS_TALLY": str(tmp_path / "tally")})
    assert (run.stdout, harness.unstamped(run.stderr)) == (bare.stdout, harness.unstamped(bare.stderr))
    rows = list(harness.tally_rows(tmp_path / "tally"))
    assert {rewrite for rewrite, *_ in rows} <= {REWRITE}
    return sum(times for _, reason, times, *_ in rows if reason is None), {reason for _, reason, *_ in rows if reason is not None}


def run_on_gpu(function, *options):
    done = harness.bare([harness.BINARY, "run", "--gpu", "H100", *options, "--", harness.PYTHON, "-W", "ignore", PROGRAM, "cuda", function])
    assert done.code == 0, done.stderr
    return done


def on_gpu(function):
    bare, run = run_on_gpu(function), run_on_gpu(function, "--allow", REWRITE, "--rewrite-min-bytes", "1")
    assert run.stdout == bare.stdout
    return run.stderr


SPLIT = ["every_optimizer", "mixed_types", "channels_last", "groups_and_a_schedule", "clipped_and_scaled", "saved_and_loaded",
         "some_without_gradients", "failing"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", SPLIT)
def test_the_parts_compute_the_same_bits(function, tmp_path):
    times, reasons = on_cpu(function, tmp_path)
    assert times > 0 and not reasons


LEFT_ALONE = {
    "closure": "its step is given a closure",
    "hooks_on_steps": "the program has hooks on its steps",
    "step_replaced": "the program replaced its step",
    "function_replaced": "the program replaced its step",
    "shared_memory": "two of its tensors share memory",
    "twice": "two of its tensors share memory",
    "some_with_momentum": "only some parameters have a momentum",
    "under_a_mode": "its step runs under a mode",
    "subclass": "a parameter, its gradient or its state is not an ordinary tensor",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function", LEFT_ALONE)
def test_a_step_that_might_differ_is_left_alone(function, tmp_path):
    assert on_cpu(function, tmp_path) == (0, {LEFT_ALONE[function]})


@pytest.mark.parametrize("function", ["default", "single", "fused", "of_its_own"])
def test_other_steps_are_not_counted(function, tmp_path):
    assert on_cpu(function, tmp_path) == (0, set())


def test_a_compiled_step_has_the_same_graphs(tmp_path):
    times, _ = on_cpu("compiled", tmp_path)
    assert times == 0


needs_cuda = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


@needs_cuda
@pytest.mark.sampled(4)
@pytest.mark.parametrize("function", [*SPLIT, "default"])
def test_the_parts_compute_the_same_bits_on_a_gpu(function):
    said = on_gpu(function)
    assert "rewrote" in said, said
    # ASGD has numbers of each parameter on the GPU.
    assert ("skipped" in said) == (function == "every_optimizer"), said


@needs_cuda
@pytest.mark.parametrize("function, reason", [
    ("with_numbers_on_the_device", "its step may be part of a CUDA graph"),
    ("other_layout", "a gradient or state differs from its parameter in type or layout"),
])
def test_a_step_that_might_take_other_kernels_is_left_alone(function, reason):
    said = on_gpu(function)
    assert "rewrote" not in said and reason in said, said


@needs_cuda
def test_the_temporaries_are_those_of_a_part():
    bare, run = run_on_gpu("peak"), run_on_gpu("peak", "--apply", "bitwise")
    assert int(bare.stdout) == 64 * 4 * 1024**2
    assert int(run.stdout) == 16 * 4 * 1024**2  # 64 MiB
