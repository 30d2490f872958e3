"""Effect of the bit-identical rewrites on memory and time: one table.

    python bench/rewrites.py [NET...] [--rounds 5] [--against BINARY] [--memsave-torch PATH] [--json FILE]

Memory: `tapelens verify` on each net, bare against `--apply lossless` and `--apply bitwise`: the most that is saved for a
backward, the peak of a step, and whether loss, gradients and parameters are the same bits. Time: the bare program against
`tapelens run`, which live through the measurement and take turns: ratios of the medians, by the wall clock and in processor time. Each
way runs in several processes, because the placement of its memory makes one process up to 4 % slower than another. With --against, another
build of Tapelens takes turns with them. At the end the cost for 2,000 operators that are too small to be worth anything."""
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
WORKER = str(ROOT / "bench/rewrites_worker.py")
NETS = ["resnet18-first", "resnet18-input", "resnet18-affine-frozen", "resnet18-every-4th", "resnet18-all", "resnet101-first",
        "transformer-eager", "transformer-sdpa", "transformer-autocast", "t5-lora", "mistral-lora", "mlp-autocast", "mobilenet",
        "frozen-2", "frozen-10", "frozen-40"]


def command(net, steps, *more):
    return [sys.executable, "-W", "ignore", WORKER, net, str(steps), *more]


def verdict_of(options, program):
    """The verdict of `tapelens verify` on a program, for bit-identical or other rewrites."""
    with tempfile.TemporaryDirectory() as folder:
        verdict = pathlib.Path(folder) / "verdict.json"
        done = subprocess.run([TAPELENS, "verify", *options, "--format", "json", "-o", verdict, "--", *program],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(program)}: tapelens verify ended with {done.returncode}:\n{done.stderr[-1500:]}")
        return json.loads(verdict.read_text(encoding="utf-8"))


def verified(net, apply, *more):
    return verdict_of(["--apply", apply], command(net, 2, *more))


LEVELS = ("lossless", "bitwise", "recompute")


def timed(net, steps, arguments, worker=WORKER, mode="turns"):
    """The ratios of (level, binary) to the bare program: by the wall clock, and in processor time."""
    binaries = [TAPELENS, *([arguments.against] if arguments.against else [])]
    prefixes = {"bare": [], **{(level, binary): [binary, "run", "--quiet", "--apply", level, "--"]
                               for level in LEVELS for binary in binaries}}
    ended = []
    for _ in range(arguments.processes):
        ways = [overhead.Way(name, net, prefix, mode, worker) for name, prefix in prefixes.items()]
        # After the first backwards Tapelens has decided.
        overhead.take_turns(ways, steps, arguments.rounds, warm_up=5)
        ended += ways
    medians = overhead.medians_of(ended)
    return {name: [time / bare for time, bare in zip(times, medians["bare"])] for name, times in medians.items() if name != "bare"}


def show_against(times, against):
    for (level, binary), (wall, cpu) in times.items():
        if binary == against:
            print(f"{'':<24}{level + ', the other build':<46}{wall:>8.3f}{cpu:>8.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--steps", type=int, default=2, help="steps per turn")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns; 0: none")
    parser.add_argument("--processes", type=int, default=3, help="processes of each way, one after another")
    parser.add_argument("--against", metavar="BINARY", help="also time this tapelens, of another build")
    parser.add_argument("--memsave-torch", metavar="PATH", help="also measure the layers of this checkout of memsave_torch")
    parser.add_argument("--json", help="the figures as a file")
    arguments = parser.parse_args()
    print(f"{'net':<24}{'level':<10}{'saved MB':>10}{'ratio':>8}{'peak MB':>10}{'ratio':>8}{'time':>8}{'cpu':>8}  same bits")
    figures = []
    ratio = lambda pair: pair[1] / pair[0] if pair[0] else float("nan")
    for net in arguments.nets:
        times = timed(net, arguments.steps, arguments) if arguments.rounds else {}
        for level in LEVELS:
            verdict = verified(net, level)
            bare, ours = verdict["bare"], verdict["rewritten"]
            if level == "lossless":
                print(f"{net:<24}{'stock':<10}{bare['saved_peak_bytes'] / 1e6:>10.2f}{'':>8}{bare['peak_bytes'] / 1e6:>10.2f}", flush=True)
            row = {"net": net, "level": level, "saved": [bare["saved_peak_bytes"], ours["saved_peak_bytes"]],
                   "peak": [bare["peak_bytes"], ours["peak_bytes"]], "identical": verdict["identical"],
                   "time": times.get((level, TAPELENS), [float("nan")] * 2),
                   "time_against": times.get((level, arguments.against))}
            figures.append(row)
            print(f"{'':<24}{level:<10}{row['saved'][1] / 1e6:>10.2f}{ratio(row['saved']):>8.3f}{row['peak'][1] / 1e6:>10.2f}"
                  f"{ratio(row['peak']):>8.3f}{row['time'][0]:>8.3f}{row['time'][1]:>8.3f}  "
                  f"{'yes' if row['identical'] else 'NO'}", flush=True)
        show_against(times, arguments.against)
        if arguments.memsave_torch:
            theirs = verified(net, "lossless", "--memsave-torch", arguments.memsave_torch)["bare"]
            row = {"net": net, "level": "memsave", "saved": [bare["saved_peak_bytes"], theirs["saved_peak_bytes"]],
                   "peak": [bare["peak_bytes"], theirs["peak_bytes"]],
                   "identical": theirs["gradient_checksum"] == bare["gradient_checksum"], "time": None}
            print(f"{'':<24}{'memsave':<10}{row['saved'][1] / 1e6:>10.2f}{ratio(row['saved']):>8.3f}{row['peak'][1] / 1e6:>10.2f}"
                  f"{ratio(row['peak']):>8.3f}{'':>16}  {'yes' if row['identical'] else 'no'}", flush=True)
            figures.append(row)
    if arguments.rounds:
        times = timed("tiny", 8, arguments, overhead.WORKER, "none")
        for level in LEVELS:
            ratios = times[level, TAPELENS]
            print(f"{'2,000 tiny operators':<24}{level:<10}{'':>36}{ratios[0]:>8.3f}{ratios[1]:>8.3f}")
            figures.append({"net": "tiny", "level": level, "time": ratios, "time_against": times.get((level, arguments.against)),
                            "identical": True})
        show_against(times, arguments.against)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if all(row["identical"] for row in figures if row["level"] != "memsave") else 1


if __name__ == "__main__":
    sys.exit(main())
