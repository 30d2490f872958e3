"""Compares the speed of two builds of Tapelens, in turns in one run.

    python bench/two_builds.py OTHER/build/release [--build build/release] [--rounds 9] [--pairs 3] [--only WORD]

Recording and rewriting: steps of the programs of overhead.py and rewrites.py, in pairs of processes, one of each build,
that live through the rounds of the pair. The memory layout of a process changes small operators by some percent, so
only several pairs show a small difference. Reading, reporting and advising: the whole command, `tapelens-bench-*` on
synthetic recordings. A pair's ratio is that of its medians, this build to the other, by the wall clock and in CPU time,
which neighbours on a shared machine disturb less. Prints the geometric mean of the pairs' ratios, and their least and
greatest in CPU time. Build both with the benches."""
import argparse
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import overhead
import rewrites

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {**overhead.STEPS, "resnet18-first": 2, "transformer-eager": 2, "frozen-10": 2}
COMMANDS = {"reading": 2_000_000, "reporting": 2_000_000, "advising": 500_000}


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def in_processes(case, prefixes, rounds, worker, mode):
    """The (wall, CPU) times of each round, for each prefix of one pair of processes."""
    ways = [overhead.Way(str(number), case, prefix, mode, worker) for number, prefix in enumerate(prefixes)]
    overhead.take_turns(ways, STEPS[case], rounds, warm_up=5)
    return [[tuple(statistics.median(step[clock] for step in turn) for clock in (overhead.WALL, overhead.CPU))
             for turn in way.turns] for way in ways]


def as_commands(commands, rounds):
    times = [[] for _ in commands]
    for number in range(rounds + 1):
        for at in range(len(commands)):
            at = (at + number) % len(commands)
            begin, cpu = time.perf_counter(), cpu_of_children()
            subprocess.run([str(word) for word in commands[at]], check=True, stdout=subprocess.DEVNULL)
            if number > 0:
                times[at].append((time.perf_counter() - begin, cpu_of_children() - cpu))
    return times


def tell(what, pairs):
    ratios = [[statistics.median(t[clock] for t in ours) / statistics.median(t[clock] for t in other)
               for clock in (overhead.WALL, overhead.CPU)] for ours, other in pairs]
    wall, cpu = (statistics.geometric_mean(column) for column in zip(*ratios))
    print(f"{what:<34}{wall:>8.3f}{cpu:>8.3f}   {min(r[overhead.CPU] for r in ratios):.3f}-"
          f"{max(r[overhead.CPU] for r in ratios):.3f}", flush=True)


def main(folder):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parent / "build/release")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", default="", help="run only lines with this word")
    arguments = parser.parse_args()
    builds = [build.resolve() / "bin" for build in (arguments.build, arguments.other)]
    print(f"{'':<34}{'wall':>8}{'CPU':>8}   pairs", flush=True)

    def records(number):
        return [builds[number] / "tapelens", "record", "--quiet", "--force", "--max-size", "32GiB", "-o",
                folder / f"{number}.tapelens", "--"]

    def applies(number, level):
        return [builds[number] / "tapelens", "run", "--quiet", "--apply", level, "--"]

    lines = []
    for case in overhead.STEPS:
        lines.append((f"record {case}", lambda case=case: in_processes(
            case, [records(0), records(1)], arguments.rounds, overhead.WORKER, "none")))
    for level in rewrites.LEVELS:
        if any(subprocess.run([*applies(number, level), "true"], capture_output=True, check=False).returncode for number in (0, 1)):
            print(f"apply {level}: one of the builds does not know this level", flush=True)
            continue
        for case in sorted(STEPS.keys() - overhead.STEPS.keys()):
            lines.append((f"apply {level} {case}", lambda case=case, level=level: in_processes(
                case, [applies(0, level), applies(1, level)], arguments.rounds, rewrites.WORKER, "turns")))
        lines.append((f"apply {level} tiny", lambda level=level: in_processes(
            "tiny", [applies(0, level), applies(1, level)], arguments.rounds, overhead.WORKER, "none")))
    for name, events in COMMANDS.items():
        lines.append((f"tapelens-bench-{name}", lambda name=name, events=events: as_commands(
            [[build / f"tapelens-bench-{name}", events] for build in builds], arguments.rounds)))
    for what, measure in lines:
        if arguments.only in what:
            tell(what, [measure() for _ in range(arguments.pairs)])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as recordings:
        sys.exit(main(pathlib.Path(recordings)))
