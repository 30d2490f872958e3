"""Rewrites do not change programs that modify memory without an operator, and survive exceptions inside a rewrite."""

import os

import pytest

import harness

PROGRAM = harness.CASES / "rewrite_host.py"
THROWING = os.environ.get("TAPELENS_THROWING_REWRITE", "")
OPERATOR = os.environ.get("TAPELENS_OPERATOR_REWRITE", "")


def both(function, *options):
    """The bare run of the program, and the run with rewrites."""
    command = [harness.PYTHON, PROGRAM, function]
    bare = harness.bare(command)
    options = ["--apply", "bitwise", "--rewrite-min-bytes", "256", "--recompute-budget", "100%", *options]
    return bare, harness.bare([harness.BINARY, "run", *options, "--", *command])


@pytest.mark.parametrize("function", ["resized", "freed_for_good", "views_elsewhere", "collectives", "shared"])
def test_what_no_operator_tells_changes_no_bit(function):
    bare, run = both(function)
    assert bare.code == 0, bare.stderr
    assert (run.code, run.stdout) == (0, bare.stdout), run.stderr
    assert "False" not in run.stdout
    assert run.stderr.startswith(bare.stderr + "tapelens: rewrote "), run.stderr


def test_what_a_rewrite_throws_is_said_once_and_counted():
    bare, run = both("activations", "--rewrite-plugin", THROWING)
    assert (run.code, run.stdout) == (0, bare.stdout), run.stderr
    first, closing = run.stderr.splitlines()
    assert first.startswith("tapelens: throwing: an error inside Tapelens: ")
    assert "on purpose" in first or "of an unknown type" in first
    assert "an error inside Tapelens (throwing" in closing


def test_a_tensor_that_cannot_be_made_again_is_an_error_that_says_which():
    _, run = both("sigmoid", "--rewrite-plugin", THROWING)
    assert run.code == 1
    assert ("RuntimeError: Tapelens: the tensor that SigmoidBackward0.result saved cannot be recomputed: decode on purpose"
            in run.stderr)
    assert "frame #" not in run.stderr


SQUARES = """
import torch
torch.manual_seed(0)
x = torch.randn(64, 64, requires_grad=True)
(torch.square(x) + torch.square(x.t())).sum().backward()
print(x.grad.double().sum().item())
"""


def test_a_library_may_bring_a_rewrite_of_an_operator():
    command = [harness.PYTHON, "-c", SQUARES]
    bare = harness.bare(command)
    def rewritten(*options):
        return harness.bare([harness.BINARY, "run", "--rewrite-plugin", OPERATOR, *options, "--", *command])
    run = rewritten("--allow", "square-as-product", "--rewrite-min-bytes", "1KiB")
    assert (run.code, run.stdout) == (0, bare.stdout), run.stderr
    assert "square-as-product" in run.stderr and "16.0 KiB" in run.stderr and "it is not contiguous" in run.stderr
    assert "square-as-product" not in rewritten("--apply", "bitwise", "--rewrite-min-bytes", "1KiB").stderr
    assert "square-as-product" not in rewritten("--allow", "square-as-product", "--rewrite-min-bytes", "1MiB").stderr
