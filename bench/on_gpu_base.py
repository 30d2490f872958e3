"""Functions for all parts of on_gpu.py: run and record programs with a time limit, and print tables."""

import concurrent.futures
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "tests/programs/cases"
PROGRAMS = ROOT / "bench/on_gpu_programs.py"
sys.path.insert(0, str(ROOT / "tests/programs"))


class Failed(Exception):
    """A program ended with an exit code other than 0, or exceeded its time; the text says which."""


class Table:
    """Prints a Markdown table row by row, and writes the figures of its rows to the file --json."""

    def __init__(self, args, *columns):
        self.file, self.figures, self.wrong = args.json, [], 0
        print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)

    def row(self, *cells, fine=True, **figures):
        print(f"| {' | '.join(str(cell) for cell in cells)} |", flush=True)
        self.wrong += not fine
        self.figures.append({**figures, "fine": fine, "left_out": any(str(cell).startswith("left out: ") for cell in cells)})
        if self.file:
            part = pathlib.Path(f"{self.file}.part")
            part.write_text(json.dumps(self.figures, indent=1), encoding="utf-8")
            part.replace(self.file)  # complete whenever the part is killed


def missing(packages):
    """The text about packages that are not installed, or an empty one."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    return f"left out: no {', '.join(absent)}" if absent else ""


def no_time(args):
    return "left out: no time was left" if time.monotonic() > args.deadline else ""


def run(args, command, env=None):
    """The output of a program."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False,
                              timeout=max(30, args.deadline - time.monotonic() + 60))
    except subprocess.TimeoutExpired as expired:
        raise Failed(f"no end after {expired.timeout:.0f} s") from None
    if done.returncode != 0:
        print(f"{' '.join(words)}\n{done.stdout}{done.stderr}", file=sys.stderr)
        raise Failed(f"exit code {done.returncode}: {''.join((done.stderr or done.stdout).strip().splitlines()[-1:])}")
    return done.stdout


def simulating(args):
    return ["--gpu", args.simulate_gpu] if args.simulate_gpu else []


def bare(args):
    """The command before a program that runs without a recording."""
    return [args.binary, "run", "--quiet", *simulating(args), "--", sys.executable] if args.simulate_gpu else [sys.executable]


def on_simulated(args, gpu):
    return [args.binary, "run", "--quiet", "--gpu", gpu, "--", sys.executable]


def record(args):
    return [args.binary, "record", "--quiet", *simulating(args)]


def read(args, command, target, *options):
    """A recording's report, or the advice about it."""
    return json.loads(run(args, [args.binary, command, target, "--format", "json", *options]))


def lines(prefix, *arguments):
    """The lines of JSON that a program of on_gpu_programs.py prints, as they come; it may fail after some."""
    with tempfile.TemporaryFile("w+") as errors:
        with subprocess.Popen([str(word) for word in [*prefix, PROGRAMS, *arguments]], stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            for line in process.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
        if process.returncode != 0:
            errors.seek(0)
            said = errors.read().strip()
            print(said, file=sys.stderr)
            raise Failed(f"exit code {process.returncode}: {''.join(said.splitlines()[-1:])}")


def at_once(args, work, items):
    """Calls work(item, folder) for each item in parallel, with separate folders; yields the results when they are complete."""
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder, concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        def one(number, item):
            own = pathlib.Path(folder) / str(number)
            own.mkdir()
            return work(item, own)

        tasks = [pool.submit(one, number, item) for number, item in enumerate(items)]
        yield from (task.result() for task in concurrent.futures.as_completed(tasks))


def mib(size):
    return f"{size / (1 << 20):.1f}"
