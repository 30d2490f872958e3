"""`tapelens record --referrers` names the variable that holds each remaining tensor. The program behaves as without the
option."""

import re

import harness
import test_fit

PROGRAM = harness.CASES / "variables.py"
LINE = r"variables\.py:\d+ \w+"  # the first line and the name of its function
FILE = r"variables\.py"
NAMES = {  # by the number of its floats
    80_000: rf"self\.net\.0\._forward_hooks\[\d+\] -> noise of the closure of <lambda>\(\) of Trainer, {LINE}",
    85_000: rf"self\.cache of Trainer, {LINE}",
    90_000: rf"self\.errors\[0\] -> inside of the frame at {FILE}:\d+, kept by the traceback of ValueError of Trainer, {LINE}",
    95_000: rf"generator -> held of endless\(\) in {LINE}",
    105_000: rf"watched\.hidden in {LINE}",
    115_000: rf"Trainer\.shared\[0\] in {FILE}",
    120_000: rf"slots\.kept in {LINE}",
    130_000: r"\.data of a Cached in a reference cycle",
    140_000: rf"history\[\d\] in {LINE}",
    150_000: rf"TABLE\['a'\] in {FILE}",
    160_000: rf"TABLE\[3\]\[0\] in {FILE}",
}
IN_PASSES = 130_000  # found by passes over all objects, every second step
LATE = (130_000, 140_000)  # made in each step, so one of them is newer than the last search


def test_each_other_live_tensor_has_its_variable(target, tmp_path):
    for _ in range(3):  # a search may take a tenth of a second of processor time, too little for cycles on a busy machine
        run, report = harness.record_and_report([harness.PYTHON, PROGRAM, "train"], target, ["--referrers"], ["--at", "step:5"])
        assert run.stderr == ""
        named = {}
        for allocation in report["peak"]["allocations"]:
            for holder in allocation["holders"]:
                if holder["kind"] == "program" and allocation["bytes"] % 4000 == 0:
                    named.setdefault(allocation["bytes"] // 4, []).append(holder["field"])
        if any(named[IN_PASSES]):
            break
    for size, pattern in NAMES.items():
        fits = [name for name in named[size] if re.fullmatch(pattern, name)]
        assert fits, f"{size}: {named[size]}"
        assert [name for name in named[size] if name and name not in fits] == []
        without = len(named[size]) - len(fits)
        assert without <= (3 if size == IN_PASSES else 1 if size in LATE else 0), f"{size}: {named[size]}"
    variables = {variable["name"]: variable for variable in report["peak"]["variables"]}
    history = next(variable for name, variable in variables.items() if name.startswith("history[*] in "))
    assert history["allocations"] >= 5 and history["bytes"] == 4 * 140_000 * history["allocations"]
    others = next(c for c in report["peak"]["by_category"] if c["name"] == "program")
    assert sum(variable["bytes"] for variable in variables.values()) == others["bytes"]
    text = harness.bare([harness.BINARY, "report", target, "--at", "step:5"]).stdout
    assert "Variables that have the other live tensors" in text and "history[*] in variables.py:" in text
    said = " ".join(harness.bare([harness.BINARY, "advise", target, "--all"]).stdout.split())
    assert re.search(r"that nothing reads again\. In variables: history\[\*\] in variables\.py:\d+ train\.", said), said

    # The search keeps no object alive, and frees none earlier.
    bare = tmp_path / "bare.tapelens"
    _, without = harness.record_and_report([harness.PYTHON, PROGRAM, "train"], bare)
    assert without["peak"]["variables"] is None
    assert [(s["peak_bytes"], s["begin_live_bytes"]) for s in report["steps"]] == \
        [(s["peak_bytes"], s["begin_live_bytes"]) for s in without["steps"]]


def test_what_a_handler_of_a_signal_raises_meanwhile_reaches_the_program(target):
    run = harness.record([harness.PYTHON, PROGRAM, "interrupt"], target, ["--referrers"], check=True)
    raised, caught, _ = map(int, run.stdout.split())
    assert raised == caught > 0
    assert run.stderr == ""
    assert harness.report(target)["recording"]["complete"]


def test_without_an_optimizer_that_pytorch_knows_it_is_looked_before_backwards(target):
    run, report = harness.record_and_report([harness.PYTHON, PROGRAM, "hooks", 0], target, ["--referrers"])
    assert (run.stdout, run.stderr) == ("0 0\n", "")
    named = {"velocity": (2, 170_000), "history": (58, 180_000)}  # the last two are newer than the last search
    for name, (least, size) in named.items():
        (variable,) = (v for v in report["peak"]["variables"] if re.fullmatch(rf"{name}\[.*\] in {LINE}", v["name"]))
        assert variable["allocations"] >= least and variable["bytes"] == 4 * size * variable["allocations"], variable


def test_what_a_handler_raises_before_a_backward_reaches_the_program(target):
    run = harness.record([harness.PYTHON, PROGRAM, "hooks", 3], target, ["--referrers"], check=True)
    raised, caught = map(int, run.stdout.split())
    assert raised == caught > 0
    assert run.stderr == ""


def test_what_a_handler_raises_as_a_look_begins_or_ends_reaches_the_program(target):
    run = harness.record([harness.PYTHON, PROGRAM, "borders"], target, ["--referrers"], check=True)
    raised, caught = map(int, run.stdout.split())
    assert raised == caught > 0
    assert run.stderr == ""


HELD = harness.CASES / "held.py"
MIB = 1 << 20


def named(report):
    """{bytes: {name of a variable}} of the live tensors that the program holds."""
    names = {}
    for allocation in report["peak"]["allocations"]:
        for holder in allocation["holders"]:
            if holder["kind"] == "program":
                names.setdefault(allocation["bytes"], []).append(holder["field"])
    return names


def recorded(case, target, options=(), at=(), code=0):
    """The report of a program with --referrers, which does as it does without Tapelens."""
    without = harness.record([harness.PYTHON, HELD, case], target, options)
    run = harness.record([harness.PYTHON, HELD, case], target, [*options, "--referrers"])
    assert run.code == without.code == code
    assert (run.stdout, run.stderr) == (without.stdout, without.stderr)
    return run, harness.report(target, at)


def test_an_evaluation_without_an_optimizer_is_searched_near_its_peak(target):
    _, report = recorded("evaluate", target)
    outputs = named(report)[4 * MIB]
    known = [name for name in outputs if re.fullmatch(r"outputs\[\d+\] in held\.py:\d+ evaluate", name)]
    assert len(known) >= len(outputs) - 1 >= 22, outputs
    (variable,) = [v for v in report["peak"]["variables"] if v["name"].startswith("outputs[*] in ")]
    assert variable["bytes"] == 4 * MIB * variable["allocations"]


def test_memory_that_no_operator_of_the_program_allocates_has_its_variable(target):
    names = named(recorded("load", target)[1])
    for size, name in {4: "CHECKPOINT['weight']", 2: "CHECKPOINT['bias']", 3: "kept.storage", 5: "kept.averaged.weight",
                       6: "kept.view", 7: "kept.array"}.items():
        place = "held.py" if name.startswith("CHECKPOINT") else r"held.py:\d+ load"
        assert any(re.fullmatch(rf"{re.escape(name)} in {place}", found) for found in names[size * MIB]), (name, names)


def test_a_loop_of_gradients_is_searched(target):
    gradients = named(recorded("gradients", target)[1])[4 * MIB]
    assert sum(name.startswith("norms[") for name in gradients) >= 13, gradients


@test_fit.pytestmark
def test_an_out_of_memory_of_a_gpu_is_searched_before_the_program_has_its_exception(target):
    run, report = recorded("cuda", target, ["--gpu", "H100:256MiB"], ["--device", "cuda:0", "--at", "oom"])
    assert run.stdout == "('OutOfMemoryError', 2, 20)\n"
    names = named(report)
    assert all(re.fullmatch(r"cache\[\d+\] in held\.py:\d+ fill", name) for name in names[16 * MIB]), names
    assert len(names[16 * MIB]) >= 10
    assert re.fullmatch(r"batch in held\.py:\d+ fill", names[2 * MIB][0])


def test_an_out_of_memory_of_the_host_is_searched_before_the_program_has_its_exception(target):
    run, report = recorded("host", target)
    assert run.stdout == "('RuntimeError', 2, 20)\n"
    names = named(report)
    assert len(names[16 * MIB]) >= 8
    assert all(re.fullmatch(r"cache\[\d+\] in held\.py:\d+ fill", name) for name in names[16 * MIB]), names


def test_a_program_that_ends_out_of_memory_has_its_variables(target):
    run, report = recorded("uncaught", target, code=1)
    assert "DefaultCPUAllocator: can't allocate memory" in run.stderr
    assert len(named(report)[16 * MIB]) >= 8


def test_an_error_in_a_search_ends_the_searches_and_not_the_program(target):
    run = harness.record([harness.PYTHON, HELD, "broken"], target, ["--referrers"], quiet=False, check=True)
    assert run.stdout == "24\n"
    said = [line for line in run.stderr.splitlines() if "error inside" in line]
    assert said == ["tapelens: an error inside Tapelens: variables are not searched from here on (ZeroDivisionError: )"]
    assert harness.report(target)["peak"]["variables"] is None


def test_a_report_says_if_the_memory_of_the_process_is_far_from_that_of_its_tensors(target):
    run, report = harness.record_and_report([harness.PYTHON, HELD, "arrays"], target)
    assert run.stdout == "1536\n"
    (process,) = report["processes"]
    host = process["host_memory"]
    more = host["resident_peak_bytes"] - host["resident_before_bytes"] - host["recorded_peak_bytes"]
    assert 1500 * MIB < more < 1792 * MIB and host["resident_peak_is_final"]
    sentence = "The process's memory (RSS) grew by "
    assert host["difference"].startswith(sentence)
    for form in ("text", "markdown", "html"):
        assert sentence in harness.bare([harness.BINARY, "report", target, "--format", form], check=True).stdout
    _, report = harness.record_and_report([harness.PYTHON, HELD, "evaluate"], target)
    assert report["processes"][0]["host_memory"]["difference"] is None


def test_reports_of_a_run_without_it_name_the_option(target):
    harness.record([harness.PYTHON, HELD, "load"], target, check=True)
    hint = "tapelens record --referrers names the variable"
    for command in (["report"], ["report", "--format", "markdown"], ["report", "--format", "html"], ["advise"]):
        said = harness.bare([harness.BINARY, command[0], target, *command[1:]], check=True).stdout
        assert hint in " ".join(said.split()), said
    harness.record([harness.PYTHON, HELD, "load"], target, ["--referrers"], check=True)
    for command in ("report", "advise"):
        assert "--referrers" not in harness.bare([harness.BINARY, command, target], check=True).stdout
