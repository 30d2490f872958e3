"""Programs with problems that users report: each NAME.py has a NAME_fixed.py and findings that advise must report.

The folder's expected.json has the expected findings of each program:

    {"losses_kept": {"find": [{"check": "retained-graph", "line": "losses.append(loss)", "says": "item\\\\(\\\\)"}],
                     "record": ["--gpu", "H100"], "packages": ["transformers"]}}

`find`: the expected findings. `line`: a part of the line to edit, or a list of parts for any of several lines.
`check` (an id, or several) and `says` (a pattern in title, message or fix) are optional. `record`: options.
`never`: patterns that no finding may contain."""

import dataclasses
import importlib.util
import json
import re
from pathlib import Path

import harness

FOLDER = harness.HERE / "reports"


@dataclasses.dataclass(frozen=True)
class Program:
    path: Path
    find: tuple
    record: tuple = ()
    packages: tuple = ()
    never: tuple = ()

    @property
    def fixed(self):
        return self.path.with_name(f"{self.path.stem}_fixed.py")

    def missing(self):
        return [package for package in self.packages if importlib.util.find_spec(package) is None]


@dataclasses.dataclass
class Outcome:
    peak: int
    entries: list  # by expected finding: the number of its entry, 0 if it is in none
    lines: list    # by expected finding: the line that its finding names, or else the line of the first entry
    predicted: int | None  # peak without all expected findings
    fixed: int
    forbidden: list  # patterns of `never` that match a finding

    @property
    def is_found(self):
        return all(self.entries)

    @property
    def is_first(self):
        return self.is_found and all(number <= 2 for number in self.entries)

    @property
    def error(self):
        return self.predicted / self.fixed - 1 if self.predicted is not None else None


def collect(folder=FOLDER, expected=None):
    expectations = json.loads((expected or folder / "expected.json").read_text(encoding="utf-8"))
    programs = []
    for name, told in sorted(expectations.items()):
        program = Program(folder / f"{name}.py", tuple(told["find"]), tuple(told.get("record", ())),
                          tuple(told.get("packages", ())), tuple(told.get("never", ())))
        for path in (program.path, program.fixed):
            assert path.exists(), f"{path} does not exist"
        programs.append(program)
    return programs


def recording(path, options, folder):
    """The path of a program's recording. Records the program if the file does not exist."""
    target = folder / f"{path.stem}.tapelens"
    if not target.exists():
        run = harness.record([harness.PYTHON, "-W", "ignore", path.name], target, options, cwd=path.parent)
        assert run.code == 0, f"{path} ended with {run.code}:\n{run.stdout}{run.stderr}"
    return target


def lines_of(program, parts):
    """The numbers of the lines that contain one of these parts."""
    lines = program.path.read_text(encoding="utf-8").splitlines()
    parts = [parts] if isinstance(parts, str) else parts
    found = {number for part in parts for number, line in enumerate(lines, 1) if part in line and not line.startswith("#")}
    assert found, f"{program.path} has none of {parts}"
    return found


def words(finding):
    return "\n".join([finding["title"], finding["message"], finding["fix"]["text"]])


def is_expected(program, told, finding):
    checks, source = told.get("check", finding["check"]), finding["source"]
    return (finding["check"] in ([checks] if isinstance(checks, str) else checks)
            and source is not None and Path(source["file"]).name == program.path.name
            and source["line"] in lines_of(program, told["line"])
            and re.search(told.get("says", ""), words(finding)) is not None)


def judged(program, value, fixed):
    """Compares `value`, the JSON of advise, with the expected findings of the program."""
    findings = {finding["id"]: finding for finding in value["findings"]}
    entries = [[findings[name] for name in entry["findings"]] for entry in value["advice"]["entries"]]

    def found(told):
        return next(((number, finding) for number, entry in enumerate(entries, 1) for finding in entry
                     if is_expected(program, told, finding)), None)

    places = [found(told) for told in program.find]
    numbers = [place[0] if place else 0 for place in places]
    predicted = None
    if places and all(places):
        alone = len(set(numbers)) == 1 and numbers[0] > 1
        predicted = (min(place[1]["peak_after_bytes"] for place in places) if alone
                     else value["advice"]["entries"][max(numbers) - 1]["peak_after_bytes"])
    shown = [place[1] if place else (entries[0][0] if entries else None) for place in places]
    lines = [f["source"]["line"] if f and f["source"] else None for f in shown]
    said = "\n".join(words(finding) for finding in value["findings"])
    return Outcome(value["advice"]["peak_before_bytes"], numbers, lines, predicted, fixed,
                   [pattern for pattern in program.never if re.search(pattern, said)])


def outcome(program, folder):
    """The outcome of a program and its fixed version. Reuses recordings in the folder."""
    # advise finds the program's source from the program's folder.
    value = harness.advise(recording(program.path, program.record, folder).resolve(), cwd=program.path.parent)
    fixed = harness.advise(recording(program.fixed, program.record, folder), ["--device", value["device"]])
    return judged(program, value, fixed["advice"]["peak_before_bytes"])
