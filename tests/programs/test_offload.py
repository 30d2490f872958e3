"""The rewrite `offload` on a simulated GPU: saves in the memory of the host have the same bits when they return, the
allocator has so many bytes less, and the host's memory stays within its limit."""

import re

import pytest

import harness
from test_cuda import has_cuda

PROGRAM = harness.CASES / "offload.py"
REWRITES = harness.CASES / "cuda_rewrites.py"
GPT = [harness.ROOT / "samples/cuda/gpt.py", "--width", "512", "--layers", "6", "--vocabulary", "2048"]
SMALL = ["--allow", "offload", "--rewrite-min-bytes", "256"]
WITH = {"alone": SMALL, "bitwise": [*SMALL, "--apply", "bitwise"], "recompute": [*SMALL, "--apply", "recompute"]}

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def run(program, *options, gpu=("--gpu", "H100")):
    done = harness.bare([harness.BINARY, "run", *gpu, *options, "--", harness.PYTHON, *program])
    assert done.code == 0, done.stderr
    return done


def offloaded(said):
    """Bytes over the whole run and at once, as text."""
    found = re.search(r", ([\d.]+ \w+) of it offloaded, at most ([\d.]+ \w+) of host memory at once", said)
    return found.groups() if found else None


def same(program, *options):
    """Messages of the run with rewrites. Its output equals the bare program's output."""
    bare, rewritten = run(program), run(program, *options)
    assert bare.stdout == rewritten.stdout
    assert "True" in bare.stdout, "the gradients are all zero: nothing was compared"
    assert "error inside Tapelens" not in rewritten.stderr, rewritten.stderr
    return rewritten.stderr


@pytest.mark.sampled(8)
@pytest.mark.parametrize("rewrites", WITH)
@pytest.mark.parametrize("function", ["deep", "kept_graph", "second_order", "two_graphs", "checkpointed", "failing_backward",
                                      "written_in_place", "looked_at", "threads", "own_pinned_memory", "branches"])
def test_gradients_are_the_same_bits(function, rewrites):
    said = same([PROGRAM, function], *WITH[rewrites])
    assert "rewrote" in said, said
    if rewrites == "alone":
        assert offloaded(said), said


@pytest.mark.sampled(3)
@pytest.mark.parametrize("rewrites", WITH)
@pytest.mark.parametrize("function", ["values", "autocast", "threads", "double", "side_stream", "two_streams", "graphed"])
def test_programs_of_the_other_rewrites_have_the_same_bits(function, rewrites):
    said = same([REWRITES, function], *WITH[rewrites])
    if function == "two_streams":
        assert "it is used on another stream (offload" in said, said
    elif rewrites == "alone":
        assert offloaded(said), said


def test_graphs_without_a_backward_leave_nothing_on_the_host():
    said = same([PROGRAM, "dropped"], *SMALL)
    assert offloaded(said) and "True\n" in said, said


def test_over_the_limit_saves_stay_on_the_gpu():
    said = same([PROGRAM, "deep"], *SMALL, "--host-memory", "100KiB")
    assert "the memory of the host for it is full (offload" in said, said
    at_once = offloaded(said)[1]
    assert at_once.endswith("KiB") and 50 < float(at_once.split()[0]) <= 100, said
    said = same([PROGRAM, "deep"], *SMALL, "--host-memory", "0B")
    assert offloaded(said) is None and "nothing was rewritten" in said, said


def test_small_saves_stay_on_the_gpu_unless_a_size_is_given():
    assert offloaded(same([PROGRAM, "deep"], "--allow", "offload")) is None


def test_a_program_on_the_cpu_has_nothing_to_offload():
    bare = harness.bare([harness.PYTHON, PROGRAM, "on_the_cpu"])
    rewritten = run([PROGRAM, "on_the_cpu"], *SMALL, gpu=())
    assert bare.stdout == rewritten.stdout
    assert "nothing was rewritten" in rewritten.stderr and "it is not on a GPU (offload" in rewritten.stderr, rewritten.stderr


def peak(done):
    return int(re.search(r"peak (\d+) bytes", done.stdout)[1])


def test_a_transformer_needs_less_of_the_gpu():
    stock, alone = run(GPT), run(GPT, "--allow", "offload")
    bitwise = run(GPT, "--apply", "bitwise")
    both = run(GPT, "--apply", "bitwise", "--allow", "offload")
    assert peak(alone) < 0.7 * peak(stock)
    assert peak(both) < 0.7 * peak(bitwise)
    assert offloaded(alone.stderr) and offloaded(both.stderr)


def test_a_recording_with_it_has_the_rewrite_and_the_pinned_memory(tmp_path):
    recording = tmp_path / "run.tapelens"
    _, report = harness.record_and_report([harness.PYTHON, PROGRAM, "deep"], recording, ["--gpu", "H100", *SMALL])
    assert report["peak"]["device"] == "cuda:0"
    text = harness.bare([harness.BINARY, "report", recording]).stdout
    assert re.search(r"offload +\d", text), text
