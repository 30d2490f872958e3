"""Memory and time of a step: Tapelens beside checkpointing and torch.compile, in one run, on the CPU.

    python bench/checkpointing.py [NET...] [--rounds 5] [--processes 2] [--json FILE]

The ways: the stock program; each layer under torch.utils.checkpoint, selectively (products saved) and fully; torch.compile with
activation memory budgets; `tapelens run` with the level bitwise, and with the plans of `--fit` for the peaks of both kinds of
checkpointing. Peaks are those of a recording. Times: the ways take turns of a few steps, each alone, in several processes; ratios
of the medians to the stock program, by the wall clock and in processor time. The last column is the time in processor time against
full checkpointing. The exit code is 1 if Tapelens needs more memory than full checkpointing, or more than 0.93 of its time."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import overhead

ROOT = pathlib.Path(__file__).resolve().parent.parent
TAPELENS = os.environ.get("TAPELENS_BINARY", str(ROOT / "build/release/bin/tapelens"))
WORKER = ROOT / "bench/checkpointing_worker.py"
NETS = ["gpt", "resnet50"]
BUDGETS = (0.5, 0.2)  # of torch.compile
MOST_TIME = 0.93      # of full checkpointing's, at its peak
STEPS = 2             # a turn; a peak is that of as many and one


def tapelens(*words, **more):
    done = subprocess.run([TAPELENS, *map(str, words)], capture_output=True, text=True, check=False, **more)
    if done.returncode != 0:
        raise SystemExit(f"tapelens {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr[-1500:]}")
    return done


def peak(net, way, options, folder):
    """Bytes of the tensors at the peak of a recording."""
    recording = folder / "run.tapelens"
    tapelens("record", "--force", "-o", recording, *options, "--", sys.executable, WORKER, net, way, STEPS + 1)
    report = json.loads(tapelens("report", recording, "--format", "json", "--top", 1).stdout)
    return max(device["peak_bytes"] for process in report["processes"] for device in process["devices"])


def plan(net, most, path):
    """The plan of `run --fit` for a size in bytes, as a file; its options in words."""
    tapelens("run", "--fit", f"{most}B", "--write-plan", path, "--force", "--", sys.executable, WORKER, net, "stock", STEPS + 1)
    chosen = json.loads(path.read_text(encoding="utf-8"))
    budget = "" if chosen["recompute_budget"] is None else f" {chosen['recompute_budget']:.0%}"
    return f"{chosen['level'] or 'no rewrites'}{budget}"


def ways_of(net, folder):
    """(name, way of the worker, options of tapelens, None: without it, peak in bytes) for each way."""
    ways = [("stock", "stock", None), ("selective checkpointing", "selective", None), ("full checkpointing", "full", None),
            *((f"torch.compile, budget {budget}", f"compile-{budget}", None) for budget in BUDGETS)]
    rows = [(name, way, options, peak(net, way, [], folder)) for name, way, options in ways]
    rows.append(("tapelens bitwise", "stock", ["--apply", "bitwise"], peak(net, "stock", ["--apply", "bitwise"], folder)))
    for name, way, _, most in rows[1:3]:
        path = folder / f"{net}-{way}.json"
        words = plan(net, most, path)
        rows.append((f"tapelens --fit, as {way}: {words}", "stock", ["--apply", path], peak(net, "stock", ["--apply", path], folder)))
    return rows


def timed(net, rows, arguments):
    """Median (wall, CPU) of a step of each way, ns."""
    ended = []
    for _ in range(arguments.processes):
        ways = [overhead.Way(name, net, [] if options is None else [TAPELENS, "run", "--quiet", *map(str, options), "--"], way, WORKER)
                for name, way, options, _ in rows]
        overhead.take_turns(ways, STEPS, arguments.rounds, warm_up=5)
        ended += ways
    return overhead.medians_of(ended)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--rounds", type=int, default=5, help="timed turns")
    parser.add_argument("--processes", type=int, default=2, help="processes of each way, one after another")
    parser.add_argument("--json", help="the figures as a file")
    arguments = parser.parse_args()
    print(f"{'net':<10}{'way':<48}{'peak MB':>9}{'ratio':>7}{'time':>7}{'cpu':>7}{'cpu, full = 1':>15}", flush=True)
    figures, is_right = [], True
    for net in arguments.nets:
        with tempfile.TemporaryDirectory() as folder:
            rows = ways_of(net, pathlib.Path(folder))
            times = timed(net, rows, arguments)
        stock, full = rows[0], rows[2]
        for name, _, options, bytes_ in rows:
            (wall, cpu), (stock_wall, stock_cpu), (_, full_cpu) = times[name], times[stock[0]], times[full[0]]
            figures.append({"net": net, "way": name, "peak_bytes": bytes_, "step_ns": wall, "step_cpu_ns": cpu})
            print(f"{net:<10}{name:<48}{bytes_ / 1e6:>9.1f}{bytes_ / stock[3]:>7.3f}{wall / stock_wall:>7.2f}{cpu / stock_cpu:>7.2f}"
                  f"{cpu / full_cpu:>15.2f}", flush=True)
        is_right &= rows[-1][3] <= full[3] and times[rows[-1][0]][1] <= MOST_TIME * times[full[0]][1]
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
