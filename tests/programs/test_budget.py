"""`tapelens budget` on small compiled programs: it measures the peaks, the kept bytes equal those of PyTorch's nodes,
and it changes no file of the user."""

import json

import harness

PROGRAM = harness.CASES / "budget.py"


def budget(options, program, code=0, env=None):
    """The JSON of the command, and its messages."""
    command = [harness.BINARY, "budget", "--format", "json", *options, "--", harness.PYTHON, PROGRAM, *program]
    run = harness.bare(command, env=env, timeout=600)
    assert run.code == code, f"{run.code}:\n{run.stdout}{run.stderr}"
    return json.loads(run.stdout), run.stderr


def saved_bare(*program):
    """Bytes and number of a compiled graph's saves, by its node in a bare run that sets the budget itself."""
    run = harness.bare([harness.PYTHON, PROGRAM, *program, "--saved"], check=True)
    return tuple(int(word) for word in run.stdout.split())


def test_a_lower_peak_is_found_and_where_lower_budgets_do_not_lower_it(tmp_path):
    found, said = budget(["--budgets", "0.4,0", "--steps", "4", "--keep", tmp_path], ["aot_eager"])
    one, some, none = found["points"]
    assert [point["budget"] for point in found["points"]] == [1, 0.4, 0]
    assert all(point["budgets_in_effect"] == [point["budget"]] and point["steps"] == 4 for point in found["points"])
    assert found["knee"] == found["lowest"] == 0.4 and found["compared_with"] == 1 and found["device"] == "cpu"
    assert some["lowers_peak"] and some["peak_bytes"] < 0.7 * one["peak_bytes"]
    assert not none["lowers_peak"] and none["kept_bytes"] < some["kept_bytes"] < one["kept_bytes"]
    assert none["peak_bytes"] > some["peak_bytes"] and none["no_lower_than"] == 1
    assert found["remarks"][0] == "Below 0.4 no budget lowers the peak: at 0 it is in the backward."
    assert all(point["shortest_step_ns"] <= point["step_ns"] <= point["longest_step_ns"] for point in found["points"])
    for point, name in ((one, "1"), (some, "0.4"), (none, "0")):
        assert harness.report(tmp_path / f"budget-{name}.tapelens")["peak"]["bytes"] == point["peak_bytes"]
        assert f"budget {name}: peak " in said
    assert (some["kept_bytes"], some["saves"]) == saved_bare("aot_eager", "--budget", "0.4")


def test_on_a_simulated_gpu_steps_have_no_time():
    found, _ = budget(["--budgets", "0.4", "--steps", "2", "--gpu", "H100"], ["aot_eager", "--device", "cuda"])
    assert found["device"] == "cuda:0" and found["knee"] == 0.4
    assert all(point["step_ns"] is None for point in found["points"])
    assert any("a simulated GPU have no time" in remark for remark in found["remarks"])


def test_where_nothing_is_compiled_it_says_so_after_one_run():
    found, _ = budget(["--steps", "2"], ["none"], code=1)
    assert found["stopped"] == "nothing_compiled" and len(found["points"]) == 1
    assert found["answer"].startswith("No compiled graph was seen")


def test_a_budget_that_the_program_sets_has_precedence():
    found, _ = budget(["--steps", "2"], ["aot_eager", "--budget", "0.3"], code=1)
    assert found["stopped"] == "set_by_program" and found["points"][0]["budgets_in_effect"] == [0.3]
    assert found["answer"].startswith("The program sets the budget itself (0.3)")


def test_a_program_that_fails_is_said():
    run = harness.bare([harness.BINARY, "budget", "--", harness.PYTHON, "-c", "import torch; torch.ones(2); raise SystemExit(3)"])
    assert run.code == 6 and "Nothing is known: the run with 1, which the others are compared with, failed." in run.stdout


def test_inductor_compiles_for_each_budget_and_fills_no_cache_of_the_users(tmp_path):
    env = {"HOME": str(tmp_path / "home"), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"),
           "TRITON_CACHE_DIR": str(tmp_path / "triton"), "TMPDIR": str(tmp_path / "temporary")}
    (tmp_path / "home").mkdir(), (tmp_path / "temporary").mkdir()
    found, _ = budget(["--budgets", "0", "--steps", "2"], ["inductor", "--linear"], env=env)
    assert [point["budgets_in_effect"] for point in found["points"]] == [[1.0], [0.0]]
    assert found["points"][1]["kept_bytes"] < found["points"][0]["kept_bytes"]
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not left, left
