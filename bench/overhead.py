"""Overhead of recording, beside the bare program and other profilers, in one run.

One process per configuration lives through the whole measurement. The processes take turns of a few steps, each alone
on the machine, so that disturbances (heat, neighbours) affect all alike. A ratio is that of the medians of all steps;
its spread is that of the ratios of the single rounds. The report also has the same ratio in CPU time, which neighbours
on a shared machine disturb less. Needs PyTorch and torchvision; uses memray if installed.

    python bench/overhead.py [--binary build/release/bin/tapelens] [--rounds 15] [--json OUT]
"""

import argparse
import importlib.util
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WORKER = HERE / "overhead_worker.py"
TARGETS = {"resnet18": 1.05, "transformer": 1.05, "tiny": 1.5}
WALL, CPU = 0, 1
STEPS = {"resnet18": 2, "transformer": 2, "tiny": 8}  # a turn


class Way:
    """One way to run a case: a living worker, and the step times of each of its turns."""

    def __init__(self, name, case, prefix, profiler="none", worker=WORKER):
        self.name, self.turns = name, []
        command = [*map(str, prefix), sys.executable, str(worker), case, profiler]
        if prefix and "memray" in prefix:
            command = [*map(str, prefix), str(worker), case, profiler]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def turn(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("["):
                return json.loads(line)
        raise SystemExit(f"overhead: {self.name} died, exit code {self.process.wait()}")

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()

    def median(self, clock):
        return statistics.median(step[clock] for turn in self.turns for step in turn)

    def medians(self):
        """Wall clock time of each turn."""
        return [statistics.median(step[WALL] for step in turn) for turn in self.turns]


def table_head():
    print(f"{'case':13} {'way':36} {'step ms':>9} {'ratio':>7}   quartiles   {'CPU':>6}   target", flush=True)


def show(row, target=""):
    low, high = row["quartiles"]
    print(f"{row['case']:13} {row['way']:36} {row['step_ms']:9.2f} {row['ratio']:7.3f}   {low:.2f}-{high:.2f}   {row['cpu_ratio']:6.3f}   "
          f"{target}", flush=True)


def ways(case, binary, folder):
    made = [Way("bare", case, []),
            Way("tapelens", case, [binary, "record", "--quiet", "--max-size", "32GiB", "-o",
                                   folder / f"{case}.tapelens", "--"]),
            Way("tapelens --referrers", case, [binary, "record", "--quiet", "--referrers", "--max-size", "32GiB", "-o",
                                               folder / f"{case}-referrers.tapelens", "--"]),
            Way("tapelens --last 3", case, [binary, "record", "--quiet", "--last", "3", "-o",
                                            folder / f"{case}-last.tapelens", "--"]),
            Way("tapelens --on-demand", case, [binary, "record", "--quiet", "--on-demand", "-o",
                                               folder / f"{case}-armed.tapelens", "--"]),
            Way("torch.profiler memory", case, [], "memory"),
            Way("torch.profiler memory, stacks", case, [], "stack")]
    if importlib.util.find_spec("memray"):
        made.append(Way("memray", case, [sys.executable, "-m", "memray", "run", "-q", "--force", "-o",
                                         folder / f"{case}.memray"]))
    return made


def take_turns(everyone, steps, rounds, warm_up=3):
    for way in everyone:
        way.turn(warm_up)
    for number in range(rounds):
        order = everyone[number % len(everyone):] + everyone[:number % len(everyone)]
        for way in order:
            way.turns.append(way.turn(steps))
    for way in everyone:
        if way.end() != 0:
            raise SystemExit(f"{way.name} failed")


def medians_of(ways):
    """name -> [wall clock, CPU] of a step, over all ways of that name."""
    steps = {}
    for way in ways:
        steps.setdefault(way.name, []).extend(step for turn in way.turns for step in turn)
    return {name: [statistics.median(step[clock] for step in all_of) for clock in (WALL, CPU)] for name, all_of in steps.items()}


def measure(case, everyone, steps, rounds):
    """The overhead of each configuration against the first one."""
    take_turns(everyone, steps, rounds)
    bare = everyone[0]
    rows = []
    for way in everyone:
        single = sorted(a / b for a, b in zip(way.medians(), bare.medians()))
        rows.append({"case": case, "way": way.name, "step_ms": way.median(WALL) / 1e6,
                     "ratio": way.median(WALL) / bare.median(WALL), "cpu_ratio": way.median(CPU) / bare.median(CPU),
                     "quartiles": [single[len(single) // 4], single[3 * len(single) // 4]]})
    return rows


def start_up(binary, folder, rounds):
    """Time of the whole command, with sealing, for a program of one operator."""
    program = [sys.executable, "-c", "import torch; torch.ones(1)"]
    recorded = [str(binary), "record", "--quiet", "-o", str(folder / "start.tapelens"), "--", *program]
    times = {"bare": [], "tapelens": []}
    for _ in range(rounds + 1):
        for name, command in (("bare", program), ("tapelens", recorded)):
            begin = time.perf_counter()
            subprocess.run(command, check=True)
            times[name].append(time.perf_counter() - begin)
    bare, taped = (statistics.median(t[1:]) for t in (times["bare"], times["tapelens"]))
    return {"bare_s": bare, "tapelens_s": taped, "cost_s": taped - bare}


def bytes_an_event(binary, folder, steps=20):
    """Bytes of the spool's blocks and of the sealed file, each divided by the events in `report`. The program is the
    transformer."""
    target = folder / "size.tapelens"
    spools = pathlib.Path(f"{target}.spool")
    subprocess.run([str(binary), "record", "--quiet", "--keep-spool", "-o", str(target), "--", sys.executable,
                    str(WORKER), "transformer", "none"], input=f"{steps}\n", text=True, stdout=subprocess.DEVNULL,
                   check=True)
    report = json.loads(subprocess.run([str(binary), "report", str(target), "--format", "json", "--top", "1"],
                                       capture_output=True, check=True).stdout)
    events = report["recording"]["events"]
    spool = sum(file.stat().st_blocks * 512 for file in spools.glob("*.spool"))
    return {"events": events, "spool": spool / events, "sealed": target.stat().st_size / events}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=HERE.parent / "build/release/bin/tapelens")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cases", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--json", help="write the figures there too")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tapelens-bench-"))
    try:
        rows = []
        table_head()
        for case in args.cases:
            for row in measure(case, ways(case, args.binary, folder), STEPS[case], args.rounds):
                show(row, f"{TARGETS[case]:.2f}" if row["way"] == "tapelens" else "")
                rows.append(row)
        start = start_up(args.binary, folder, max(3, args.rounds // 2))
        print(f"start-up     bare {start['bare_s']:.2f} s, recorded {start['tapelens_s']:.2f} s: "
              f"{start['cost_s']:+.2f} s (target 0.30)")
        size = bytes_an_event(args.binary, folder)
        print(f"size         {size['events']} events: {size['spool']:.1f} bytes an event in the spool (target 64), "
              f"{size['sealed']:.1f} in the sealed file (target 12)")
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps({"steps": rows, "start_up": start, "size": size}, indent=1),
                                               encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
