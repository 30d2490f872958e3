"""The advice for a run out of memory names changes with which the failed request fits. A run with such a change
succeeds."""

import shlex

import pytest

import harness
import test_fit

FROZEN = harness.CASES / "frozen.py"
GPU = "H100:256MiB"

pytestmark = test_fit.pytestmark


def run(options, program, env=None):
    return harness.bare([harness.BINARY, "run", "--quiet", "--gpu", GPU, *options, "--", *program], env=env)


@pytest.fixture(name="program")
def a_program():
    return [harness.PYTHON, str(FROZEN), "12"]


@pytest.fixture(name="full")
def a_recording(program, target):
    ended = harness.record(program, target, ["--gpu", GPU])
    assert ended.code == 1 and "CUDA out of memory" in ended.stderr
    return target


def ways(fits, key):
    return [way for way in fits["ways"] if way[key]]


def test_rewrites_that_are_named_are_enough_and_their_command_is_to_be_pasted(full, program):
    fits = harness.advise(full)["advice"]["allocator"]["fits"]
    assert fits["ran_out_of_memory"] and fits["failed"] is not None
    assert fits["whole_steps_before"] == 0
    named = {way["rewrites"]: way for way in ways(fits, "rewrites")}
    assert set(named) == {"--apply lossless", "--apply bitwise", "--allow unneeded-save"}
    for options, way in named.items():
        assert way["commands"] == [f"tapelens run {options} -- {shlex.join(map(str, program))}"]
        assert way["reserved_peak_bytes"] <= fits["card_bytes"]
        assert run(options.split(), program).code == 0
    assert run([], program).code == 1
    assert ways(fits, "findings")


def test_the_whole_run_on_a_larger_gpu_says_what_makes_it_fit(full, program, tmp_path):
    fits = harness.advise(full)["advice"]["allocator"]["fits"]
    record, advise = (shlex.split(command) for command in fits["whole_run_commands"])
    whole = tmp_path / "whole.tapelens"
    ended = harness.bare([harness.BINARY, *(whole if word == "whole.tapelens" else word for word in record[1:])])
    assert ended.code == 0, ended.stderr
    assert advise[:3] == ["tapelens", "advise", "whole.tapelens"]
    of_all = harness.advise(whole, advise[3:])["advice"]["allocator"]["fits"]
    assert not of_all["ran_out_of_memory"] and of_all["whole_run_commands"] == []
    assert "--apply lossless" in {way["rewrites"] for way in of_all["ways"]}


def test_text_and_markdown_have_the_ways_and_say_what_is_not_known(full):
    for form in ["text", "markdown"]:
        said = harness.bare([harness.BINARY, "advise", full, "--format", form]).stdout
        assert "tapelens run --apply lossless -- " in said
        assert "Later requests of the program are not known (no step was complete" in " ".join(said.split())
        assert "tapelens record --gpu H100:1TiB -o whole.tapelens -- " in said
    assert "the changes with which it fits" in harness.bare([harness.BINARY, "report", full]).stdout
