"""Every rewrite that guarantees the same bits leaves all gradients unchanged: for PyTorch's own samples, and for
features of autograd besides one forward and one backward."""

import functools
import json
import os
import subprocess

import pytest

import harness
import sampling

# Which operators and how many samples of each: every fourth operator, or all of them.
OPERATORS = ["0", "1", "3"] if sampling.ALL else ["1", "4", "2"]
AT_LEAST = 1000 if sampling.ALL else 150

def run(case, arguments, apply=None, poison=False):
    """Lines of a program, each a JSON value, and the rewrites that were applied: name -> how often."""
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    command = [harness.PYTHON, "-W", "ignore", str(harness.CASES / case), *arguments]
    tally = ""
    if apply is not None:
        command = [str(harness.BINARY), "run", "--apply", apply, "--rewrite-min-bytes", "1", *(["--poison"] if poison else []), "--", *command]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    tally = done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], tally

@functools.lru_cache
def bare_run(case, *arguments):
    return run(case, arguments)[0]

def differences(bare, rewritten):
    return [(a, b) for a, b in zip(bare, rewritten, strict=True) if a != b]

@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_gradients_of_pytorchs_own_samples(dtype):
    arguments = [dtype, *OPERATORS]
    bare = bare_run("opdb_digest.py", *arguments)
    assert len(bare) > AT_LEAST
    rewritten, said = run("opdb_digest.py", arguments, "bitwise")
    assert "rewrote" in said
    assert differences(bare, rewritten) == []

def test_what_is_never_read_may_be_anything():
    arguments = ["float32", *OPERATORS]
    bare = bare_run("opdb_digest.py", *arguments)
    poisoned, said = run("opdb_digest.py", arguments, "lossless", poison=True)
    assert "rewrote" in said
    assert differences(bare, poisoned) == []

@pytest.mark.parametrize("apply", ["lossless", "bitwise"])
def test_behaviours_of_autograd(apply):
    bare = bare_run("behaviours.py")
    rewritten, said = run("behaviours.py", [], apply)
    assert "rewrote" in said
    assert differences(bare, rewritten) == []
