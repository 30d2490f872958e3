"""The programs with and without findings of each check: two in plugins/ID/README.md, the others in checks/ID.py.
Collects them, records the programs of two checks at a time, and runs `tapelens advise` on them."""

import concurrent.futures
import dataclasses
import functools
import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

import harness

PLUGINS = harness.ROOT / "plugins"
PROGRAMS = harness.HERE / "checks"
FORK_EACH = harness.CASES / "fork_each.py"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
JOBS = 2


@dataclasses.dataclass(frozen=True)
class Program:
    check: str
    name: str
    command: tuple  # arguments of `python`; `text` adds the program's file before them
    is_positive: bool
    text: str = ""  # the program's source, if a page has it
    properties: tuple = ()
    fixed: tuple = ()  # the command of the fixed program
    exit_code: int = 0

    @property
    def id(self):
        return f"{self.check.replace('-', '_')}-{self.name}"


@dataclasses.dataclass
class Outcome:
    findings: list  # findings of the program's check
    peak: int
    fixed_peak: int | None


# They report nothing without --apply: test_rewrites_cuda.py compares their predictions with runs.
PREDICTIONS_ALONE = {"loss-rows"}


def check_ids():
    return sorted({path.parent.name for path in PLUGINS.glob("*/check.cpp")} - PREDICTIONS_ALONE)


def of_page(check):
    page = PLUGINS / check / "README.md"
    if not page.exists():
        return []
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    kinds = [("page_shows_it", True), ("page_looks_like_it", False)]
    return [Program(check, name, (), is_positive, text) for (name, is_positive), text in zip(kinds, blocks)]


def load(path):
    sys.path.insert(0, str(PROGRAMS))
    try:
        spec = importlib.util.spec_from_file_location(f"check_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(PROGRAMS))


def of_file(check):
    path = PROGRAMS / f"{check.replace('-', '_')}.py"
    if not path.exists():
        return []
    module = load(path)
    programs = []
    for name, expected in sys.modules["cases"].expectations(module).items():
        fixed = expected["fixed"]
        assert fixed is None or hasattr(module, fixed), f"{path} does not define {fixed}"
        programs.append(Program(check, name, (path, name), expected["kind"] == "positive", "",
                                tuple(expected["properties"].items()), (path, fixed) if fixed else (),
                                expected["exit_code"]))
    return programs


@functools.lru_cache
def collect():
    return [program for check in check_ids() for program in [*of_page(check), *of_file(check)]]


def measure(programs, folder):
    """Records the programs of one check and their fixed versions as processes of one recording. Returns their
    outcomes."""
    commands, pages = [], Path(folder)
    for program in programs:
        command = program.command
        if program.text:
            command = (pages / f"{program.name}.py",)
            command[0].write_text(program.text, encoding="utf-8")
        commands.append((command, program.exit_code))
        if program.fixed:
            commands.append((program.fixed, 0))
    target = pages / "run.tapelens"
    run = harness.record([harness.PYTHON, FORK_EACH, json.dumps([[str(c) for c in command] for command, _ in commands])],
                         target, timeout=900)
    assert run.code == 0, run.stdout + run.stderr
    said = [json.loads(line) for line in run.stdout.splitlines()]
    for (command, code), ended in zip(commands, said, strict=True):
        assert ended["code"] == code, f"{command} ended with {ended['code']}, not with {code}:\n{run.stderr}"
    processes = {p["pid"]: p["devices"] for p in harness.report(target, ["--top", "0"])["processes"]}
    peaks = [processes[ended["pid"]][0]["peak_bytes"] for ended in said]

    outcomes, at = {}, 0
    for program in programs:
        advice = harness.advise(target, ["--check", program.check, "--process", str(said[at]["pid"])])
        findings = [f for f in advice["findings"] if f["check"] == program.check]
        outcomes[program.id] = Outcome(findings, peaks[at], peaks[at + 1] if program.fixed else None)
        at += 2 if program.fixed else 1
    return outcomes


class Pool:
    """Measures programs in the background, check by check, in the given order."""

    def __init__(self, programs):
        self.folder = tempfile.TemporaryDirectory()
        self.executor = concurrent.futures.ThreadPoolExecutor(JOBS)
        self.futures = {}
        for check in dict.fromkeys(program.check for program in programs):
            own = [program for program in programs if program.check == check]
            place = Path(self.folder.name) / check
            place.mkdir()
            self.futures[check] = self.executor.submit(measure, own, place)

    def outcome(self, program):
        return self.futures[program.check].result()[program.id]

    def close(self):
        self.executor.shutdown(cancel_futures=True)
        self.folder.cleanup()
