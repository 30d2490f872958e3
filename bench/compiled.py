"""Overhead of recording under torch.compile: time to compile, and time of a compiled step.

    python bench/compiled.py [--binary build/release/bin/tapelens] [--rounds 7] [--only WORD] [--json OUT]

Compiling: whole processes take turns; each builds the network of samples/gpt.py under torch.compile (Inductor, or
aot_eager, which generates no code) and says how long its first step took, by the wall clock and in CPU time, that of the
C++ compilers included. Cold ones have empty caches, cached ones those of one before. Steps: as overhead.py measures them.
Bare stands there twice: how far two that are alike differ."""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import overhead

TARGET = 1.05
FIRST_STEP = r"""
import json, resource, sys, time
sys.argv = ["overhead_worker.py", sys.argv[1], "none"]
import torch
import overhead_worker as worker

def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)

torch.set_num_threads(1)
torch.manual_seed(0)
step = worker.CASES[sys.argv[1]]()
begin, used = time.perf_counter(), cpu()
step()
print(json.dumps([time.perf_counter() - begin, cpu() - used]))
"""


def first_step(prefix, case, caches):
    run = subprocess.run([*map(str, prefix), sys.executable, "-c", FIRST_STEP, case], check=True, stdout=subprocess.PIPE,
                         cwd=overhead.HERE, text=True, env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(caches),
                                                           "TORCHINDUCTOR_COMPILE_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
    return json.loads(run.stdout.splitlines()[-1])


def compiling(case, prefixes, rounds, folder, cached):
    """For each way, the (wall, CPU) seconds of the first step in each round."""
    times = {name: [] for name in prefixes}
    if cached:
        first_step([], case, folder / "caches")
    for number in range(rounds):
        names = list(prefixes)
        for name in names[number % len(names):] + names[:number % len(names)]:
            caches = folder / ("caches" if cached else "cold")
            shutil.rmtree(folder / "cold", ignore_errors=True)
            times[name].append(first_step(prefixes[name], case, caches))
    return times


def rows_of(what, times):
    bare = times["bare"]
    for name, turns in times.items():
        wall, cpu = (statistics.median(turn[clock] for turn in turns) for clock in (overhead.WALL, overhead.CPU))
        single = sorted(a[overhead.CPU] / b[overhead.CPU] for a, b in zip(turns, bare))
        yield {"case": what, "way": name, "step_ms": wall * 1e3, "ratio": wall / statistics.median(turn[overhead.WALL] for turn in bare),
               "cpu_ratio": cpu / statistics.median(turn[overhead.CPU] for turn in bare),
               "quartiles": [single[len(single) // 4], single[3 * len(single) // 4]]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=overhead.HERE.parent / "build/release/bin/tapelens", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="run only rows with this word: aot_eager, inductor, cold, cached, step")
    parser.add_argument("--json", help="also write the figures to this file")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tapelens-bench-"))
    prefixes = {"bare": [], "bare again": [],
                "tapelens": [args.binary.resolve(), "record", "--quiet", "-o", folder / "run.tapelens", "--"]}
    rows = []

    def show(row):
        overhead.show(row, f"{TARGET:.2f}" if row["way"] == "tapelens" else "")
        rows.append(row)

    try:
        overhead.table_head()
        for case, cached in (("aot_eager", False), ("compiled", False), ("compiled", True)):
            what = f"{case.replace('compiled', 'inductor')}, {'cached' if cached else 'cold'}"
            if args.only not in what:
                continue
            for row in rows_of(what, compiling(case, prefixes, args.rounds, folder, cached)):
                show(row)
        if args.only in "step":
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(folder / "caches")
            ways = [overhead.Way(name, "compiled", prefix) for name, prefix in prefixes.items()]
            for row in overhead.measure("compiled", ways, 3, 2 * args.rounds):
                show({**row, "case": "step"})
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
