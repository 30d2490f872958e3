"""What the rewrites do to memory and time, bit for bit the same: one table.

    python bench/rewrites.py [NET...] [--steps 5] [--rounds 3] [--json FILE]

Memory: `tapelens verify` on each net, bare against `--apply lossless` and `--apply bitwise`: the most that is saved for a
backward, the peak of a step, and whether loss, gradients and parameters are the same bits. Time: the bare program against
`tapelens run`, interleaved; the median of each and their ratio."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TAPELENS = os.environ.get("TAPELENS_BINARY", str(ROOT / "build/release/bin/tapelens"))
WORKER = str(ROOT / "bench/rewrites_worker.py")
NETS = ["resnet18-first", "resnet18-input", "resnet18-affine-frozen", "resnet18-every-4th", "resnet18-all", "resnet101-first",
        "transformer-eager", "transformer-sdpa", "transformer-autocast", "t5-lora", "mistral-lora", "mlp-autocast", "mobilenet",
        "frozen-2", "frozen-10", "frozen-40"]


def command(net, steps, *more):
    return [sys.executable, "-W", "ignore", WORKER, net, str(steps), *more]


def verified(net, apply, *more):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([TAPELENS, "verify", "--apply", apply, "--format", "json", "-o", file.name, "--", *command(net, 2, *more)],
                              capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{net}: tapelens verify ended with {done.returncode}:\n{done.stderr[-1500:]}")
        return json.load(open(file.name, encoding="utf-8"))


def seconds(net, steps, apply):
    prefix = [TAPELENS, "run", "--quiet", "--apply", apply, "--"] if apply else []
    done = subprocess.run(prefix + command(net, steps), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def timed(net, steps, rounds):
    taken = {None: [], "lossless": [], "bitwise": []}
    for _ in range(rounds):
        for apply, of in taken.items():
            # Tapelens measures in the first backwards; then it has decided.
            of += seconds(net, steps + 3, apply)[3:]
    return {apply: statistics.median(of) for apply, of in taken.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", default=NETS, metavar="NET", help=", ".join(NETS))
    parser.add_argument("--steps", type=int, default=5, help="steps that are timed in each round")
    parser.add_argument("--rounds", type=int, default=3, help="0: no times")
    parser.add_argument("--memsave-torch", metavar="PATH", help="a checkout of memsave_torch: its layers beside ours")
    parser.add_argument("--json", help="the figures as a file")
    arguments = parser.parse_args()
    print(f"{'net':<24}{'level':<10}{'saved MB':>10}{'ratio':>8}{'peak MB':>10}{'ratio':>8}{'time':>8}  same bits")
    figures = []
    ratio = lambda pair: pair[1] / pair[0] if pair[0] else float("nan")
    for net in arguments.nets:
        times = timed(net, arguments.steps, arguments.rounds) if arguments.rounds else None
        for level in ("lossless", "bitwise"):
            verdict = verified(net, level)
            bare, ours = verdict["bare"], verdict["rewritten"]
            if level == "lossless":
                print(f"{net:<24}{'stock':<10}{bare['saved_peak_bytes'] / 1e6:>10.2f}{'':>8}{bare['peak_bytes'] / 1e6:>10.2f}", flush=True)
            row = {"net": net, "level": level, "saved": [bare["saved_peak_bytes"], ours["saved_peak_bytes"]],
                   "peak": [bare["peak_bytes"], ours["peak_bytes"]], "identical": verdict["identical"],
                   "time": times[level] / times[None] if times else None}
            figures.append(row)
            print(f"{'':<24}{level:<10}{row['saved'][1] / 1e6:>10.2f}{ratio(row['saved']):>8.3f}{row['peak'][1] / 1e6:>10.2f}"
                  f"{ratio(row['peak']):>8.3f}{row['time'] if row['time'] else float('nan'):>8.3f}  "
                  f"{'yes' if row['identical'] else 'NO'}", flush=True)
        if arguments.memsave_torch:
            theirs = verified(net, "lossless", "--memsave-torch", arguments.memsave_torch)["bare"]
            row = {"net": net, "level": "memsave", "saved": [bare["saved_peak_bytes"], theirs["saved_peak_bytes"]],
                   "peak": [bare["peak_bytes"], theirs["peak_bytes"]],
                   "identical": theirs["gradient_checksum"] == bare["gradient_checksum"], "time": None}
            print(f"{'':<24}{'memsave':<10}{row['saved'][1] / 1e6:>10.2f}{ratio(row['saved']):>8.3f}{row['peak'][1] / 1e6:>10.2f}"
                  f"{ratio(row['peak']):>8.3f}{float('nan'):>8.3f}  {'yes' if row['identical'] else 'no'}", flush=True)
            figures.append(row)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if all(row["identical"] for row in figures if row["level"] != "memsave") else 1


if __name__ == "__main__":
    sys.exit(main())
