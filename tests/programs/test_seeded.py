"""Programs with one common bug each (seeded/): the advice names the line to fix, the peak after a patch or a fix by
hand equals the prediction, and a changed file gets no patch.

A line that ends in `# bug` may be named. `# fixed: CODE` behind a line is its replacement when the bug is fixed by
hand. It is absent where the advice has a patch.
"""

import concurrent.futures
import contextlib
import dataclasses
import functools
import json
import subprocess
from pathlib import Path

import pytest

import harness

FOLDER = harness.HERE / "seeded"
FORK_EACH = harness.CASES / "fork_each.py"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
# Programs without training have no gradients to compare.
TRAINS_NOTHING = {"growing_concatenation", "transformers_embeddings"}


def fixed_by_hand(text):
    lines, was_fix = [], False
    for line in text.splitlines():
        indent, mark, code = line.partition("# fixed: ")
        is_fix = bool(mark) and not indent.strip()
        if is_fix and not was_fix:
            lines.pop()
        lines.append(indent + code if is_fix else line)
        was_fix = is_fix
    return "\n".join(lines) + "\n"


@dataclasses.dataclass
class Outcome:
    repository: Path
    target: Path
    pid: int
    entry: dict  # among the first two entries: the one that names the line and lowers the peak most
    findings: list  # findings of that entry
    named: list  # the lines that the first two entries name
    patch: str
    peak: int
    predicted: int
    measured: int


def record(programs, target):
    """Runs files, each in a separate process. By file: pid and peak."""
    run = harness.record([harness.PYTHON, FORK_EACH, json.dumps([[str(p)] for p in programs])], target, timeout=900)
    assert run.code == 0, run.stdout + run.stderr
    said = [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"pid"')]
    for program, ended in zip(programs, said, strict=True):
        assert ended["code"] == 0, f"{program} ended with {ended['code']}:\n{run.stderr}"
    peaks = {p["pid"]: p["devices"][0]["peak_bytes"] for p in harness.report(target, ["--top", "0"])["processes"] if p["devices"]}
    return {program: (ended["pid"], peaks[ended["pid"]]) for program, ended in zip(programs, said, strict=True)}


def advise(repository, target, pid):
    done = harness.bare([harness.BINARY, "advise", target, "--process", str(pid), "--format", "json"], cwd=repository)
    assert done.code == 0, done.stderr
    value = json.loads(done.stdout)
    harness.validator("advise").validate(value)
    return value


def choose(value, program, lines):
    """The entry for a reader to follow, its findings, and all lines that the first two entries name."""
    findings = {f["id"]: f for f in value["findings"]}
    named, followed = [], []
    for entry in value["advice"]["entries"][:2]:
        own = [findings[finding] for finding in entry["findings"]]
        places = [(f["check"], Path(f["source"]["file"]).name, f["source"]["line"]) for f in own if f["source"]]
        named += places
        if any(name == program.name and line in lines for _, name, line in places):
            followed.append((entry, own))
    followed.sort(key=lambda one: one[0]["peak_after_bytes"] - one[0]["peak_before_bytes"])
    return (*(followed[0] if followed else (None, [])), named)


def git(folder, *arguments):
    subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)


def measure(names, folder):
    """Records programs unchanged and fixed by hand, runs advise, and records the patched programs."""
    repository, fixed = folder / "repository", folder / "fixed"
    repository.mkdir()
    fixed.mkdir()
    git(repository, "init", "--quiet")
    texts = {name: (FOLDER / f"{name}.py").read_text(encoding="utf-8") for name in names}
    for name, text in texts.items():
        (repository / f"{name}.py").write_text(text, encoding="utf-8")
        if "# fixed: " in text:
            (fixed / f"{name}.py").write_text(fixed_by_hand(text), encoding="utf-8")
    target = folder / "run.tapelens"
    ran = record([repository / f"{name}.py" for name in names] + sorted(fixed.glob("*.py")), target)

    outcomes, patched = {}, folder / "patched"
    patched.mkdir()
    git(patched, "init", "--quiet")
    for name, text in texts.items():
        program = repository / f"{name}.py"
        pid, peak = ran[program]
        lines = [number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# bug")]
        entry, findings, named = choose(advise(repository, target, pid), program, lines)
        patches = [f["fix"]["patch"] for f in findings if f["fix"]["patch"]]
        patch = patches[0] if patches else ""
        measured = 0
        if patch:
            (patched / program.name).write_text(text, encoding="utf-8")
            (folder / f"{name}.patch").write_text(patch, encoding="utf-8")
            git(patched, "apply", folder / f"{name}.patch")
        elif "# fixed: " in text:
            measured = ran[fixed / program.name][1]
        before = entry["peak_before_bytes"] if entry else peak
        alone = findings[0]["peak_after_bytes"] if len(findings) == 1 else None
        predicted = entry and (entry["peak_after_bytes"] if before == peak else alone)
        outcomes[name] = Outcome(repository, target, pid, entry, findings, named, patch, peak, predicted, measured)
    programs = sorted(patched.glob("*.py"))
    if programs:
        for program, (_, peak) in record(programs, folder / "patched.tapelens").items():
            outcomes[program.stem].measured = peak
    return outcomes


@contextlib.contextmanager
def in_halves(request, make_folder, measure):
    """outcome(name) of `measure(names, folder)` for the selected tests. Two halves at a time, because imports take most of
    the time."""
    chosen = sorted({item.callspec.params["name"] for item in request.session.items
                     if item.module is request.module and hasattr(item, "callspec")})
    halves = [half for half in (chosen[::2], chosen[1::2]) if half]
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        futures = [(half, executor.submit(measure, half, make_folder())) for half in halves]

        @functools.lru_cache
        def outcome(name):
            return next(future for half, future in futures if name in half).result()[name]
        yield outcome


@pytest.fixture(scope="module")
def pool(request, tmp_path_factory):
    with in_halves(request, lambda: tmp_path_factory.mktemp("seeded"), measure) as outcome:
        yield outcome


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", NAMES)
def test_the_line_is_named_and_the_peak_is_the_predicted_one(name, pool):
    outcome = pool(name)
    assert outcome.entry, f"named: {outcome.named}"
    assert outcome.predicted, "two findings in the second entry: what it does alone is not said"
    assert outcome.measured, "neither a patch nor a fix by hand"
    assert outcome.measured == pytest.approx(outcome.predicted, rel=0.02), \
        f"{outcome.findings[0]['check']}: {outcome.peak} -> {outcome.predicted} predicted, {outcome.measured} measured"
    no_patch_of_a_changed_file(name, outcome)


def no_patch_of_a_changed_file(name, outcome):
    program = outcome.repository / f"{name}.py"
    text = program.read_text(encoding="utf-8")
    program.write_text(text.replace("manual_seed(0)", "manual_seed(1)").replace("seed_everything(1)", "seed_everything(2)"),
                       encoding="utf-8")
    assert program.read_text(encoding="utf-8") != text
    findings = advise(outcome.repository, outcome.target, outcome.pid)["findings"]
    program.write_text(text, encoding="utf-8")
    assert findings
    assert not any(f["fix"]["patch"] for f in findings)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in TRAINS_NOTHING])
def test_verify_says_that_the_patch_changes_no_result(name, pool, tmp_path):
    outcome = pool(name)
    if not outcome.patch:
        return
    (tmp_path / "fix.patch").write_text(outcome.patch, encoding="utf-8")
    done = harness.bare([harness.BINARY, "verify", "--patch", tmp_path / "fix.patch", "--format", "json", "-o", tmp_path / "verdict",
                         "--", harness.PYTHON, f"{name}.py"], cwd=outcome.repository)
    assert done.code == 0, done.stderr
    value = json.loads((tmp_path / "verdict").read_text(encoding="utf-8"))
    assert value["verdict"] == "identical"
    assert value["compared"]["losses"] > 0 and value["compared"]["gradients"] > 0
    assert value["patched"]["peak_bytes"] == pytest.approx(outcome.predicted, rel=0.02)


def test_there_are_enough_of_them():
    assert len(NAMES) >= 20
    assert sum(name.startswith("lightning") for name in NAMES) >= 5
    assert sum(name.startswith("transformers") for name in NAMES) >= 5
    assert all(len((FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 50 for name in NAMES)
