"""Values on a simulated GPU: small tensors hold the values that the CPU computes, and the recording has each read of an
unknown value."""

import json
import re

import pytest

import harness
from test_simulated_gpu import command, pytestmark  # noqa: F401 (the mark is of this module, too)

CASES = harness.CASES / "cuda_values.py"


def simulated(name, options=(), env=None):
    """The output of a case on an H100."""
    run = harness.bare(command(["--gpu", "H100", *options], harness.PYTHON, CASES, name), env=env)
    assert run.code == 0, f"{name} ended with {run.code}:\n{run.stdout}{run.stderr}"
    assert run.stderr == "", "carrying out is nothing that a program hears of"
    return json.loads(run.stdout.splitlines()[-1])[name]


def test_small_tensors_hold_what_the_cpu_computes():
    program = CASES.read_text(encoding="utf-8").replace('D = "cuda"', 'D = "cpu"', 1)
    run = harness.bare([harness.PYTHON, "-c", program, "small"], check=True)
    expected = json.loads(run.stdout)["small"]
    seen = simulated("small")
    assert {name: value for name, value in seen.items() if str(value) != str(expected[name])} == {}
    assert seen["masked"] == [5, 6, 7, 8, 9] and seen["equal"] and not seen["unequal"]


def test_what_was_not_computed_reads_as_zero_and_is_finite():
    assert simulated("unknown") == {"sum": 0.0, "finite": True, "log": 0.0, "ratio": 0.0, "nan": False, "random": [0.0, 0.0, 0.0]}


# The simulated driver reads the variable at its first call, and the preload library reads it at the first operator.
WITHOUT_PROBE = """
import ctypes, os, runpy, sys
gpu = os.environ["TAPELENS_SIMULATED_GPU"]
count = ctypes.c_int()
next_library = ctypes.CDLL(None)
assert next_library.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1
del os.environ["TAPELENS_SIMULATED_GPU"]
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_neither_random_numbers_nor_the_gpus_memory_are_disturbed():
    carried = simulated("undisturbed")
    python = [harness.PYTHON, "-c", WITHOUT_PROBE, CASES, "undisturbed"]
    run = harness.bare(command(["--gpu", "H100"], *python), check=True)
    assert json.loads(run.stdout.splitlines()[-1])["undisturbed"] == carried
    assert carried["same"]


def test_a_loop_over_tokens_that_nobody_computed_goes_to_its_end():
    assert simulated("generation") == {"length": 5, "open": [1, 1, 1, 1]}


def test_a_grad_scaler_goes_on_without_values():
    seen = simulated("scaler")
    assert seen["scale"] == 65536.0
    assert seen["stepped"] == [1, 2, 3], "every step was taken"
    assert seen["norms"] == [0.0, 0.0, 0.0]


def test_a_grad_scaler_works_where_all_is_small():
    assert simulated("small_scaler") == {"scales": [1024.0, 512.0, 512.0], "weight": [0.5 - 1.0] * 4}


def test_shapes_that_depend_on_small_tensors_are_right():
    assert simulated("padded") == {"longest": 7, "mask": [3, 7, 5], "kept": [15, 512], "indices": 15, "strides": [1, 15]}


def test_ddp_over_nccl_begins_and_trains():
    assert simulated("ddp") == {"to_one": 8, "exchanged": [7] * 8, "gathered": [[4, 2]] * 8, "objects": 8, "steps": 2}


def test_places_where_unknown_values_are_read_are_listed(target):
    run = harness.record([harness.PYTHON, CASES, "places"], target, ["--gpu", "H100"])
    assert run.code == 0, run.stderr
    expected = [(number, match[1]) for number, line in enumerate(CASES.read_text(encoding="utf-8").splitlines(), 1)
                if (match := re.search(r"# here: (\w+)$", line))]
    process, = harness.report(target)["processes"]
    seen = [(read["line"], read["operator"].removeprefix("aten::")) for read in process["value_reads"]]
    assert seen == expected
    assert all(read["file"] == str(CASES) and read["function"] == "places" for read in process["value_reads"])
    assert process["value_reads"][-1]["count"] == 2, "in a loop"
    text = harness.bare([harness.BINARY, "report", target, "--verbose"], check=True).stdout
    assert f"read at cuda_values.py:{expected[0][0]} places (item)" in " ".join(text.split())
    assert "places more" in text
    markdown = harness.bare([harness.BINARY, "report", target, "--format", "markdown"], check=True).stdout
    assert "The peak may depend on values" in markdown


def test_a_program_that_reads_only_known_values_has_no_such_places(target):
    run = harness.record([harness.PYTHON, CASES, "padded"], target, ["--gpu", "H100"])
    assert run.code == 0, run.stderr
    assert [process["value_reads"] for process in harness.report(target)["processes"]] == [[]]
    assert "may depend on values" not in harness.bare([harness.BINARY, "report", target], check=True).stdout


MAY_BE_WHY = "if such a value is why, only a real GPU has it"
UNKNOWN = "import torch; x = torch.rand(1 << 20, device='cuda').sum()"
PROGRAM_THAT_READS = f"{UNKNOWN}; x.item()"


@pytest.mark.parametrize("program, is_said", [
    ("import no_such_module", False),
    (f"{UNKNOWN}; raise ValueError('nothing was read')", False),
    ("import torch; torch.ones(4, device='cuda').sum().item(); raise ValueError('it was known')", False),
    (f"{PROGRAM_THAT_READS}; raise ValueError('of what was read')", True),
    (f"{PROGRAM_THAT_READS}; import os; os._exit(3)", True),
    (f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM_THAT_READS!r}], check=True); sys.exit(1)", False),
    (f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PROGRAM_THAT_READS + '; sys.exit(1)'!r}], check=True)", True),
])
@pytest.mark.parametrize("options", [["run"], ["run", "--apply", "bitwise"], ["record", "-o", "run.tapelens"]], ids=["run", "apply", "record"])
def test_zeros_are_named_as_a_cause_only_where_a_process_that_failed_read_one(options, program, is_said, tmp_path):
    run = harness.bare([harness.BINARY, *options, "--gpu", "H100", "--", harness.PYTHON, "-c", program], cwd=tmp_path)
    assert run.code != 0
    assert (MAY_BE_WHY in run.stderr) == is_said, run.stderr
