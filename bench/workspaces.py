"""Compares the estimates of cuDNN's workspaces on the simulated GPU with the requests of a real one: bench/results/h100/on-gpu-first.md.

    python bench/workspaces.py [--results FILE] [--binary build/release/bin/tapelens]

Prints how many of the largest requests of each forward and backward are within 5 % (or 0.4 MiB), both sums, and the other rows."""

import argparse
import pathlib
import sys

import on_gpu_base

HERE = pathlib.Path(__file__).resolve().parent
SHARE, MIB = 0.05, 0.4


def measured(results):
    """(name, largest request in the forward, in the backward) for each row of the table, in MiB."""
    text = results.read_text(encoding="utf-8")
    table = text.split("## Workspaces of cuDNN", 1)[1].split("\n## ", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| ")][2:]
    return [(" ".join(cells[:4]), *(max(float(each) for each in cell.split("+")) for cell in cells[4:])) for cells in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "results/h100/on-gpu-first.md", help="the output of on_gpu.sh first")
    parser.add_argument("--binary", type=pathlib.Path, default=HERE.parent / "build/release/bin/tapelens")
    args = parser.parse_args()
    real = measured(args.results)
    simulated = [[max(told[of], default=0) / (1 << 20) for of in ("forward", "backward")]
                 for told in on_gpu_base.lines(on_gpu_base.on_simulated(args, "H100"), "workspaces")]
    if len(real) != len(simulated):
        sys.exit(f"{args.results} has {len(real)} convolutions, bench/on_gpu_programs.py {len(simulated)}")
    pairs = [(f"{name}, {when}", wanted, found) for (name, *both), estimates in zip(real, simulated)
             for when, wanted, found in zip(("forward", "backward"), both, estimates)]
    others = [pair for pair in pairs if abs(pair[1] - pair[2]) > max(SHARE * pair[1], MIB)]
    sums = [sum(pair[of] for pair in pairs) for of in (1, 2)]
    print(f"{len(pairs) - len(others)} of {len(pairs)} within {SHARE:.0%}; sums {sums[0]:.1f} and {sums[1]:.1f} MiB ({sums[1] / sums[0] - 1:+.1%})")
    for name, wanted, found in others:
        print(f"{name}: {wanted:.1f} MiB, estimated {found:.1f}")


if __name__ == "__main__":
    main()
