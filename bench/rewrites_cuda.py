"""Measures the effect of the rewrites on CUDA memory, by the counts of PyTorch's allocator in the runs. Prints one table.

    python bench/rewrites_cuda.py [NET...] [--gpu H100] [--no-cpu] [--json FILE]     on a simulated GPU
    python bench/rewrites_cuda.py --real [NET...]                                    on the GPU of this machine

Each net of bench/rewrites.py runs bare, with `--apply lossless` and with `--apply bitwise`. The table has the bytes that are saved when the
backward of a step begins, and the peak of the step, both above the bytes from before the step.

On a simulated GPU it also has the results of `tapelens verify` for the same net on the CPU. Kernels and formulas differ there (dropout keeps
bools on CUDA, attention and batch normalisation have separate nodes), and the last columns compare the ratios.

On a real GPU it also has the time of a step, and whether the parameters after the steps have the same bits, under deterministic algorithms.
The exit code is 1 if they differ."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import rewrites


class Failed(Exception):
    """A net failed."""


REAL = ["resnet101-64-first", "resnet101-64", "transformer-eager", "transformer-sdpa", "transformer-autocast"]
STEPS = {False: 2, True: 12}  # on a real GPU, the first steps take long


def counted(net, level, args):
    simulating = [] if args.real else ["--gpu", args.gpu]
    applying = ["--apply", level] if level else []
    prefix = [rewrites.TAPELENS, "run", "--quiet", *simulating, *applying, "--"] if simulating or applying else []
    done = subprocess.run([*prefix, *rewrites.command(net, STEPS[args.real], "--cuda")], capture_output=True, text=True, check=False,
                          env={**os.environ, "CUBLAS_WORKSPACE_CONFIG": ":4096:8"})
    if done.returncode != 0:
        raise Failed(f"{net}, {level or 'bare'}: ended with {done.returncode}:\n{done.stderr[-1500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def row_of(net, level, args, bare):
    ours = counted(net, level, args)
    row = {"net": net, "level": level, "saved": [bare["saved"], ours["saved"]], "peak": [bare["peak"], ours["peak"]]}
    if args.real:
        row |= {"seconds": [bare["seconds"], ours["seconds"]], "identical": bare["digest"] == ours["digest"]}
    elif args.cpu:
        verdict = rewrites.verified(net, level)
        for name, key in {"cpu_saved": "saved_peak_bytes", "cpu_peak": "peak_bytes"}.items():
            row[name] = [verdict["bare"][key], verdict["rewritten"][key]]
    return row


def ratio(pair):
    return pair[1] / pair[0] if pair[0] else float("nan")


def shown(row):
    cells = [f"{row['net']:<24}{row['level']:<10}"]
    for of in ("saved", "peak"):
        cells.append(f"{row[of][0] / 1e6:>10.2f}{row[of][1] / 1e6:>10.2f}{ratio(row[of]):>8.3f}")
    for of in ("cpu_saved", "cpu_peak"):
        if of in row:
            cells.append(f"{ratio(row[of]):>10.3f}{ratio(row[of.removeprefix('cpu_')]) - ratio(row[of]):>+8.3f}")
    if "seconds" in row:
        cells.append(f"{row['seconds'][0]:>9.4f}{row['seconds'][1]:>9.4f}{ratio(row['seconds']):>8.3f}  {'yes' if row['identical'] else 'NO'}")
    return "".join(cells)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nets", nargs="*", metavar="NET", help=f"{', '.join(rewrites.NETS)}; with --real {', '.join(REAL)}")
    parser.add_argument("--gpu", default="H100", help="GPU to simulate")
    parser.add_argument("--real", action="store_true", help="use the GPU of this machine")
    parser.add_argument("--no-cpu", dest="cpu", action="store_false", help="without the columns of the CPU")
    parser.add_argument("--binary", default=rewrites.TAPELENS)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no other net after this time")
    parser.add_argument("--json", help="write the figures to a file")
    args = parser.parse_args()
    rewrites.TAPELENS = args.binary
    head = f"{'net':<24}{'level':<10}{'saved MB':>10}{'after':>10}{'ratio':>8}{'peak MB':>10}{'after':>10}{'ratio':>8}"
    print(head + (f"{'step s':>9}{'after':>9}{'ratio':>8}  same bits" if args.real else
                  f"{'CPU saved':>10}{'':>8}{'CPU peak':>10}" if args.cpu else ""))
    figures, begin, failures = [], time.monotonic(), 0
    for net in args.nets or (REAL if args.real else rewrites.NETS):
        if time.monotonic() - begin > args.seconds:
            print(f"{net:<24}left out: no time was left")
            continue
        try:
            bare = counted(net, None, args)
            for level in rewrites.LEVELS:
                figures.append(row_of(net, level, args, bare))
                print(shown(figures[-1]), flush=True)
        except Failed as failed:
            failures += 1
            print(failed, flush=True)
        if args.json:
            pathlib.Path(args.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0 if not failures and all(row.get("identical", True) for row in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
