"""Runs cases/opdb_kinds.py bare and with rewrites, and compares. As a program, it prints the differences by kind:

    python tests/programs/operator_database.py [--all] [--chunks 24] [--only 0,3] [--apply bitwise] [--seed 0] [--json FILE] [--bare FOLDER]
"""

import argparse
import collections
import dataclasses
import functools
import json
import pathlib
import subprocess
import sys

import harness

PROGRAM = harness.CASES / "opdb_kinds.py"
BARE = "bare"
# Reads of uninitialized memory differ between two bare runs.
PERTURBED = {"MALLOC_PERTURB_": "165"}


@dataclasses.dataclass
class Compared:
    runs: int = 0
    not_repeatable: list = dataclasses.field(default_factory=list)
    differences: list = dataclasses.field(default_factory=list)  # name, bare, rewritten
    ended: str = ""  # the end of a process that failed
    said: str = ""


def command(arguments, apply):
    program = [harness.PYTHON, "-W", "ignore", PROGRAM, *map(str, arguments)]
    if apply == BARE:
        return program
    return [harness.BINARY, "run", "--apply", apply, "--rewrite-min-bytes", "1", "--recompute-budget", "100%", "--", *program]


def answers(arguments, apply=BARE, env=None, timeout=7200):
    """name -> answer, and the end of the process."""
    done = harness.bare(command(arguments, apply), env={"TORCH_LOGS": "-all", **(env or {})}, timeout=timeout)
    found = {}
    for line in done.stdout.splitlines():
        try:
            name, answer = json.loads(line)
        except ValueError:
            continue  # cut off, where the process died
        found[name] = answer
    return found, done


@functools.cache
def repeatable(*arguments, folder=None):
    """The answers of the bare program, and the names of the runs with varying answers. Keeps both in `folder`."""
    kept = folder and pathlib.Path(folder) / f"{'-'.join(map(str, arguments))}.json"
    if kept and kept.exists():
        return json.loads(kept.read_text(encoding="utf-8"))
    first, done = answers(arguments)
    assert done.code == 0, done.stderr[-2000:]
    second, done = answers(arguments, env=PERTURBED)
    assert done.code == 0, done.stderr[-2000:]
    found = first, [name for name in first if first[name] != second.get(name)]
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(found), encoding="utf-8")
    return found


def compare(arguments, apply, folder=None):
    bare, changing = repeatable(*arguments, folder=folder)
    if apply == BARE:
        return Compared(runs=len(bare), not_repeatable=changing)
    rewritten, done = answers(arguments, apply)
    compared = Compared(runs=len(bare), not_repeatable=changing, said=done.stderr)
    left_out = set(changing)
    if done.code != 0:
        last = next(reversed(rewritten), "the start")
        compared.ended = f"exit code {done.code} after {last}: {done.stderr[-500:]}"
    compared.differences = [(name, bare[name], rewritten[name]) for name in bare
                            if name not in left_out and name in rewritten and rewritten[name] != bare[name]]
    # Some operators (lstsq) have another answer in some runs of any kind. A third run finds more of them.
    if compared.differences:
        third, _ = answers(arguments, env=PERTURBED)
        unsteady = {name.split()[0] for name in (*changing, *(name for name in bare if third.get(name) != bare[name]))}
        compared.not_repeatable = [*changing, *(name for name, *_ in compared.differences if name.split()[0] in unsteady)]
        compared.differences = [one for one in compared.differences if one[0].split()[0] not in unsteady]
    return compared


def kind_of(name):
    return " ".join(name.split()[4:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="every sample, subset and kind")
    parser.add_argument("--chunks", type=int, default=24)
    parser.add_argument("--only", help="these chunks: 0,3")
    parser.add_argument("--apply", default="bitwise")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--bare", metavar="FOLDER", help="keep what the bare program answers there, and take it from there")
    parser.add_argument("--json", help="write the differences to a file, one a line")
    options = parser.parse_args()
    chosen = [int(number) for number in options.only.split(",")] if options.only else range(options.chunks)
    kinds, runs, not_repeatable, total, failed = collections.defaultdict(list), 0, 0, 0, False
    for chunk in chosen:
        compared = compare([chunk, options.chunks, "all" if options.all else "sampled", options.seed], options.apply,
                           options.bare)
        runs, not_repeatable, total = runs + compared.runs, not_repeatable + len(compared.not_repeatable), total + len(compared.differences)
        failed |= bool(compared.ended)
        print(f"chunk {chunk}: {compared.runs} runs, {len(compared.not_repeatable)} not repeatable, {len(compared.differences)} differ"
              + (f"; {compared.ended}" if compared.ended else ""), flush=True)
        for name, bare, rewritten in compared.differences:
            kinds[kind_of(name)].append((name, bare, rewritten))
            if options.json:
                with open(options.json, "a", encoding="utf-8") as file:
                    file.write(json.dumps([name, bare, rewritten]) + "\n")
    print(f"\n{runs} runs, {not_repeatable} not repeatable, {total} differ")
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        name, bare, rewritten = found[0]
        print(f"{kind}: {len(found)}, such as {name}\n    bare      {bare}\n    rewritten {rewritten}")
    return 1 if total or failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.TimeoutExpired as error:
        sys.exit(f"{error.cmd} took too long")
