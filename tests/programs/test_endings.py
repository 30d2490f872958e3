"""CUDA programs that end right after a backward end with their own exit code and output. `bench/endings.py` runs more."""

import pytest

import endings
from test_simulated_gpu import pytestmark  # noqa: F401 (the mark is of this module, too)

# The last two abort in every run in which their threads are not held back, the others in many.
NAMES = [
    "returns",
    "raises",
    "custom_function",
    "daemon_is_in_its_backward",
    "daemon_computes",
]


@pytest.mark.parametrize("way", endings.WAYS)
def test_programs_that_end_after_a_backward_end_as_they_are_written(way):
    all_wrong = [
        f"{name}: {why}\n{run.stdout}{run.stderr}"
        for name, run, _ in endings.ends(way, NAMES, len(NAMES), at_once=4)
        if (why := endings.wrong(name, run))
    ]
    assert all_wrong == []
