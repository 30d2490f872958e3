"""Rewrites on CUDA, on a simulated GPU: tests compare every bit of small tensors, and the number of bytes of large ones
(cases/cuda_rewrites.py)."""

import json

import pytest

import harness
import predictions
from test_cuda import has_cuda

PROGRAM = harness.CASES / "cuda_rewrites.py"
HOSTILE = harness.CASES / "hostile_autocast.py"
IMAGES = 4 * 8 * 128 * 128  # elements
EAGER = ["--rewrite-min-bytes", "256", "--recompute-budget", "20%"]

pytestmark = pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")


def run(function, *options):
    done = harness.bare([harness.BINARY, "run", "--gpu", "H100", *options, "--", harness.PYTHON, PROGRAM, function])
    assert done.code == 0, done.stderr
    return done


def same(function, apply, *options):
    """Messages of the run with rewrites. Its output equals the bare program's output."""
    bare, rewritten = run(function), run(function, "--apply", apply, *EAGER, *options)
    assert bare.stdout == rewritten.stdout
    assert bare.stdout.endswith("True\n"), "the gradients are all zero: nothing was compared"
    assert "error inside Tapelens" not in rewritten.stderr, rewritten.stderr
    return rewritten.stderr


@pytest.mark.sampled(4)
@pytest.mark.parametrize("apply", ["lossless", "bitwise"])
@pytest.mark.parametrize("function", ["values", "autocast", "threads", "double"])
def test_gradients_are_the_same_bits(function, apply):
    said = same(function, apply)
    assert "rewrote" in said, said


@pytest.mark.parametrize("apply", ["lossless", "bitwise"])
def test_a_training_on_a_stream_of_its_own_is_rewritten_there(apply):
    assert "rewrote" in same("side_stream", apply)


@pytest.mark.parametrize("apply", ["lossless", "bitwise"])
def test_what_another_stream_uses_is_left_alone(apply):
    assert "it is used on another stream" in same("two_streams", apply)


@pytest.mark.parametrize("apply", ["lossless", "bitwise"])
def test_what_a_graph_is_captured_of_is_left_alone(apply):
    said = same("graphed", apply)
    assert "it is used inside a CUDA graph" in said
    assert "rewrote" in said, "what is outside of the graph is rewritten"


def test_a_stand_in_of_nans_reaches_no_gradient():
    same("values", "lossless", "--poison")


COPIES = 2 * (7 * 1024 * 1024 + 64 * 1024)  # of seven weights and the input, in bfloat16; the last weight keeps its memory until a cast of that size


@pytest.mark.parametrize("function, fewer", [("weights_of_autocast", [COPIES] * 3),
                                             ("weights_of_autocast_that_are_read_again", [COPIES, 0, 0, 0, 0, 0])])
def test_copies_of_autocast_have_memory_while_they_are_read(function, fewer):
    """A weight that is read again in its context keeps its copies from then on."""
    bare, rewritten = ([int(line) for line in run(function, *options).stdout.split()] for options in ((), ("--apply", "bitwise", "--recompute-budget", "100%")))
    assert [a - b for a, b in zip(bare, rewritten, strict=True)] == fewer


def test_copies_of_autocast_cost_no_memory_when_their_weights_are_stepped():
    bare, rewritten = ([int(line) for line in run("weights_of_autocast_that_are_stepped_in_the_context", *options).stdout.split()]
                       for options in ((), ("--apply", "bitwise", "--recompute-budget", "100%")))
    assert all(b <= a for a, b in zip(bare, rewritten, strict=True)), (bare, rewritten)


def test_copies_of_autocast_leave_no_holes_between_saves():
    """The allocator reserves less by all copies but the last."""
    bare, rewritten = (int(run("weights_of_autocast_between_saves", *options).stdout) for options in ((), ("--apply", "bitwise")))
    assert bare - rewritten >= 2 * 47 * 1024 * 1024


@pytest.mark.parametrize("apply", ["bitwise", "recompute"])
def test_unusual_uses_of_copies_of_autocast_keep_their_bits(apply):
    bare, rewritten = (harness.bare([harness.BINARY, "run", "--gpu", "H100", *options, "--", harness.PYTHON, "-W", "ignore", HOSTILE, "--cuda"])
                       for options in ((), ("--apply", apply, *EAGER)))
    assert bare.code == rewritten.code == 0, rewritten.stderr
    names = harness.bare([harness.PYTHON, "-W", "ignore", HOSTILE, "--list"], check=True).stdout.split()
    assert [json.loads(line)[0] for line in bare.stdout.splitlines()] == names
    assert bare.stdout == rewritten.stdout
    assert "rewrote" in rewritten.stderr and "error inside Tapelens" not in rewritten.stderr, rewritten.stderr


# The reduction of the saved bytes at the begin of the backward, and the reduction of the peak. A tensor that the
# backward decodes coexists with its encoding: the bits of a mask, or short indices. At each peak, one such tensor is
# decoded.
FEWER = {
    ("frozen_convolutions", "lossless"): (3 * 4 * IMAGES, 3 * 4 * IMAGES),
    ("relus", "lossless"): (2 * (4 * IMAGES - IMAGES // 8), -IMAGES // 8),
    ("dropouts", "lossless"): (2 * (IMAGES - IMAGES // 8), IMAGES - IMAGES // 8),
    ("dropped", "lossless"): (IMAGES - IMAGES // 8, IMAGES - IMAGES // 8),
    ("dropped", "bitwise"): (4 * IMAGES + IMAGES - IMAGES // 8, IMAGES - IMAGES // 8),
    ("dropped_transposed", "bitwise"): (IMAGES - IMAGES // 8, IMAGES - IMAGES // 8),
    ("pooled", "lossless"): (4 * IMAGES + (8 - 2) * IMAGES // 4, 4 * IMAGES - 2 * IMAGES // 4),
    ("copies", "lossless"): (0, 0),
    ("copies", "bitwise"): (2 * 4 * IMAGES, 4 * IMAGES),
}
LATE = harness.CASES / "late_gradients.py"


def late(function):
    """Standard output without and with late-gradient, and the messages with it."""
    bare, run = (harness.bare([harness.BINARY, "run", "--gpu", "H100", *options, "--", harness.PYTHON, "-W", "ignore", LATE, function, "cuda"])
                 for options in ([], ["--allow", "late-gradient"]))
    assert bare.code == run.code == 0, run.stderr
    return bare.stdout, run.stdout, run.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("function", ["every_optimizer", "two_groups_and_a_schedule", "state_saved_and_loaded", "tied"])
def test_parameters_stepped_in_the_backward_have_the_same_bits(function):
    bare, run, said = late(function)
    assert bare == run
    assert "rewrote" in said, said


@pytest.mark.sampled(3)
@pytest.mark.parametrize("function, reason", [
    ("clipped", "something else reads the gradients"),
    ("scaled", "something else reads the gradients"),
    ("parameter_saved_elsewhere", "the rest of the backward may still read the parameter"),
    ("on_two_streams", "the program uses several streams"),
    ("autocast_around_the_backward_of_a_gpu", "the backward runs under autocast"),
    ("with_numbers_on_the_gpu", "its step may be part of a CUDA graph"),
])
def test_no_parameter_is_stepped_in_the_backward_where_that_could_differ(function, reason):
    bare, run, said = late(function)
    assert bare == run
    assert "nothing was rewritten" in said and reason in said, said


def test_gradients_that_do_not_wait_need_no_memory():
    bare, run, _ = late("wide")
    gradients = 8 * 4 * (1024 * 1024 + 1024)
    assert int(bare) - int(run) > 0.7 * gradients


SCALAR = 8  # a loss and its gradient may be alive at one peak and not at the other


@pytest.mark.sampled(4)
@pytest.mark.parametrize("function, apply", FEWER)
def test_so_many_bytes_are_saved_less(function, apply):
    # Small programs: the starts of kernels would be over the default budget.
    bare, rewritten = (json.loads(run(function, *options).stdout) for options in ((), ("--apply", apply, "--recompute-budget", "20%")))
    saved, peak = FEWER[function, apply]
    assert bare["saved"] - rewritten["saved"] == saved
    assert abs(bare["peak"] - rewritten["peak"] - peak) <= SCALAR


@pytest.mark.sampled(2)
@pytest.mark.parametrize("level", ["lossless", "bitwise"])
@pytest.mark.parametrize("net", ["convolutions", "transformer"])
def test_what_is_predicted_of_a_cuda_recording_comes_true(net, level, tmp_path):
    figures = list(predictions.compare([harness.PYTHON, PROGRAM, net], tmp_path, level, recording=["--gpu", "H100"]))
    assert {figure.of for figure in figures} == {"peak", "saved"}
    assert all(figure.is_right() for figure in figures), figures
    saved, = (figure for figure in figures if figure.of == "saved")
    assert saved.measured < 0.9 * saved.bare, "hardly anything was rewritten"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("net", ["language_model", "language_model_with_own_loss", "language_model_under_autocast", "language_model_in_bfloat16",
                                 "language_model_with_smooth_labels"])
def test_the_loss_and_the_steps_of_an_optimizer_are_predicted_to_the_byte(net, tmp_path):
    figures = list(predictions.compare([harness.PYTHON, PROGRAM, net], tmp_path, "bitwise", recording=["--gpu", "H100"]))
    assert all(figure.least == figure.measured == figure.most for figure in figures), figures
    peak, = (figure for figure in figures if figure.of == "peak")
    assert peak.measured < (0.97 if "smooth" in net else 0.75) * peak.bare
