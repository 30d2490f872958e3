"""Runs `tapelens advise` on small programs with problems that users report. Prints for each the entry and the line of
the expected finding, the predicted peak, and the peak of the program fixed by hand.

    python bench/reports.py [FOLDER] [--expect FILE] [--only NAME]... [--recordings FOLDER] [--markdown]

FOLDER has NAME.py, NAME_fixed.py and expected.json (tests/programs/reported.py describes it). The exit code is 1 if an
entry is not among the first two, is harmful, or predicts a peak that differs by more than 2 % from the fixed
program's."""

import argparse
import ast
import concurrent.futures
import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/programs"))

import reported  # noqa: E402

MOST_OFF = 0.02
MIB = 2**20


def purpose(path):
    """The first paragraph of the program's docstring."""
    words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or path.stem
    return " ".join(words.split("\n\n")[0].split()).replace("|", "\\|")


def markdown(program, outcome):
    source = program.path.read_text(encoding="utf-8").splitlines()
    lines = "<br>".join(f"`{source[line - 1].strip()}`" if line else "-" for line in outcome.lines).replace("|", "\\|")
    entries = ", ".join(str(number or "-") for number in outcome.entries)
    predicted = "-" if outcome.predicted is None else f"{outcome.predicted / MIB:.1f}"
    return (f"| {purpose(program.path)} | {entries} | {lines} | {outcome.peak / MIB:.1f} | {predicted} "
            f"| {outcome.fixed / MIB:.1f} |")


def row(name, outcome):
    entries = ", ".join(str(number or "-") for number in outcome.entries) or "none"
    lines = ", ".join(str(line or "-") for line in outcome.lines)
    predicted, off = "-", ""
    if outcome.predicted is not None:
        predicted, off = f"{outcome.predicted / MIB:.1f}", f"{100 * outcome.error:+.1f} %"
    harm = "" if not outcome.forbidden else "harmful: " + ", ".join(outcome.forbidden)
    return (f"{name:28}{entries:>8}{lines:>10}{outcome.peak / MIB:>10.1f}{predicted:>11}{outcome.fixed / MIB:>10.1f}"
            f"{off:>9}  {harm}").rstrip()


def is_good(outcome):
    return (outcome.is_first and not outcome.forbidden
            and (outcome.error is None or abs(outcome.error) <= MOST_OFF))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=reported.FOLDER)
    parser.add_argument("--expect", type=Path, metavar="FILE", help="instead of FOLDER/expected.json")
    parser.add_argument("--only", action="append", metavar="NAME", help="programs whose names begin like this")
    parser.add_argument("--recordings", type=Path, metavar="FOLDER",
                        help="keep the recordings here, and do not make those that are here again")
    parser.add_argument("--markdown", action="store_true", help="the table of docs/verified-advice.md")
    arguments = parser.parse_args()
    programs = [p for p in reported.collect(arguments.folder.resolve(), arguments.expect)
                if not arguments.only or p.path.stem.startswith(tuple(arguments.only))]
    if not programs:
        sys.exit(f"no program of {arguments.folder} matches --only")
    good = ran = 0
    with contextlib.ExitStack() as stack:
        folder = arguments.recordings or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.markdown:
            print("| report | entry | line | peak MiB | predicted | measured |\n|---|---|---|---|---|---|")
        else:
            print(f"{'program':28}{'entry':>8}{'line':>10}{'peak MiB':>10}{'predicted':>11}{'measured':>10}{'off':>9}")
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            futures = [(p, executor.submit(reported.outcome, p, folder)) for p in programs if not p.missing()]
            for program, future in futures:
                outcome = future.result()
                ran += 1
                good += is_good(outcome)
                print(markdown(program, outcome) if arguments.markdown else row(program.path.stem, outcome), flush=True)
    for program in programs:
        if missing := program.missing():
            print(f"{program.path.stem} is skipped: it needs {' '.join(missing)}")
    print(f"{good} of {ran} are in the first two entries, with a peak within {100 * MOST_OFF:.0f} % of the fixed program's")
    return good < ran


if __name__ == "__main__":
    sys.exit(main())
