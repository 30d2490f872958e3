"""The probe has three jobs: recording, rewrites, and values of a simulated GPU. A run that does not request a job
enters none of its functions."""

import harness


def entered(command, namespace):
    """The number of the probe's functions in a namespace, the functions that it enters, and Tapelens' messages."""
    # -O3 inlines many of them; every recording enters the remaining ones.
    script = harness.CASES / "entered_functions.py"
    run = harness.bare([*command, "gdb", "-nx", "-batch", "-x", script, "--args", harness.PYTHON, harness.CASES / "masks.py"],
                       env={"TAPELENS_TEST_NAMESPACE": namespace}, check=True)
    lines = run.stdout.splitlines()
    count, = [int(line.split()[1]) for line in lines if line.startswith("functions:")]
    return count, {line.removeprefix("entered: ") for line in lines if line.startswith("entered: ")}, run.stderr


def test_a_run_with_rewrites_enters_nothing_of_the_recording_and_the_other_way_round(tmp_path):
    apply = [harness.BINARY, "run", "--apply", "lossless", "--"]
    record = [harness.BINARY, "record", "-o", tmp_path / "run", "--"]
    for own, other, asks in [(apply, "tapelens::record::", {"open"}), (record, "tapelens::rewrite::", {"settings", "start"})]:
        count, functions, _ = entered(own, other)
        assert count > 50
        # These functions find that their feature is not requested.
        assert {name.removeprefix(other).split("(")[0] for name in functions} == asks
    assert len(entered(record, "tapelens::record::")[1]) > 20
    _, functions, said = entered(apply, "tapelens::rewrite::")
    assert len(functions) > 20
    assert "rewrote" in said


def test_a_run_whose_gpu_is_there_enters_nothing_of_a_simulated_one(tmp_path):
    for own in ([harness.BINARY, "run", "--apply", "lossless", "--"], [harness.BINARY, "record", "-o", tmp_path / "run", "--"]):
        count, functions, _ = entered(own, "tapelens::fake_kernels::")
        assert count > 10
        assert {name.removeprefix("tapelens::fake_kernels::").split("(")[0] for name in functions} == {"start"}
