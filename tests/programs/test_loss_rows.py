"""The rewrite loss-rows: cross entropies with the same bits and less memory. Programs run bare and with the probe, in
separate processes."""

import pytest
import torch

import harness
from test_operator_rewrites import rewritten, same


ALONE, FOLLOWED = "loss-rows", "loss-rows,recomputable-save,duplicate-save"  # with the second, casts are followed


def both(function, tmp_path, allow=ALONE, min_bytes=1):
    results = []
    for name in ("bare", "rewritten"):
        command = [harness.PYTHON, "-W", "ignore", harness.CASES / "losses.py", function, tmp_path / name]
        if name == "bare":
            run = harness.bare(command)
        else:
            run, done = rewritten(command, allow, tmp_path / "tally", min_bytes)
        assert (run.code, run.stdout, run.stderr) == (0, "", ""), run.stderr
        results.append(torch.load(tmp_path / name, weights_only=False))
    assert results[0].keys() == results[1].keys()
    return *results, done


@pytest.mark.parametrize("allow", [ALONE, FOLLOWED])
@pytest.mark.parametrize("function", ["kinds", "moments", "trained"])
def test_losses_have_the_same_bits(function, allow, tmp_path):
    stock, got, done = both(function, tmp_path, allow)
    same(stock, got)
    assert done["loss-rows", None][0] > {"kinds": 300, "moments": 20, "trained": 11}[function]
    assert ("loss-rows", "an error inside Tapelens") not in done
    assert ("loss-rows", "by rows it has other bits") not in done
    if function == "kinds":
        for reason in ("its targets are probabilities", "its classes have weights", "it smooths labels",
                       "its classes are not the last of two dimensions", "its logits are not contiguous"):
            assert done["loss-rows", reason][0] > 0


def test_small_losses_are_not_rewritten(tmp_path):
    stock, got, done = both("trained", tmp_path, min_bytes=1 << 30)
    same(stock, got)
    assert not done


HEAD = """
import torch
from torch.nn import functional as F
torch.manual_seed(0)
head = torch.nn.Linear(64, 8192, bias=False)
def loss():
    logits = head(torch.randn(1024, 64))
    return F.cross_entropy(logits, torch.randint(0, 8192, (1024,)))
for _ in range(2):
    head.zero_grad()
    loss().backward()
print(head.weight.grad.sum().item())
"""


def test_the_peak_is_one_matrix_and_some_rows(tmp_path):
    """The gradient is written into the memory of the logits, which the program dropped."""
    command = [harness.PYTHON, "-c", HEAD]
    bare = harness.record(command, tmp_path / "bare")
    run = harness.record(command, tmp_path / "rewritten", ["--apply", "bitwise"])
    assert (run.code, run.stdout) == (0, bare.stdout), run.stderr
    before, after = (harness.report(tmp_path / name)["peak"]["bytes"] for name in ("bare", "rewritten"))
    matrix = 1024 * 8192 * 4
    assert before >= 3 * matrix
    assert after <= 2 * matrix
