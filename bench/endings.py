"""Tests the exit of short CUDA programs that end with a backward, on a simulated GPU and a busy machine.

    python bench/endings.py [--build build/release] [--way run record apply] [--runs 200] [--at-once 4] [PROGRAM...]

Runs the programs of tests/programs/cases/cuda_endings.py in turn: `--runs` runs for each way, `--at-once` of them in
parallel. Prints the exit codes of each program and its longest run. The exit code is 1 if a run has an unexpected exit
code or output."""

import argparse
import collections
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/programs"))

import endings  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument(
        "--way", nargs="+", choices=list(endings.WAYS), default=list(endings.WAYS)
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 2))
    parser.add_argument(
        "programs", nargs="*", default=list(endings.ENDINGS), metavar="PROGRAM"
    )
    args = parser.parse_args()
    if unknown := set(args.programs) - set(endings.ENDINGS):
        parser.error(
            f"no program {', '.join(sorted(unknown))}: there are {', '.join(endings.ENDINGS)}"
        )
    failed = 0
    for way in args.way:
        codes = {name: collections.Counter() for name in args.programs}
        longest = dict.fromkeys(args.programs, 0.0)
        for name, run, seconds in endings.ends(
            way, args.programs, args.runs, args.at_once, args.build / "bin/tapelens"
        ):
            codes[name][run.code] += 1
            longest[name] = max(longest[name], seconds)
            if why := endings.wrong(name, run):
                failed += 1
                print(
                    f"{way}: {name}: {why}\n{run.stdout}{run.stderr}",
                    file=sys.stderr,
                    flush=True,
                )
        print(
            f"{way + ', ' + str(args.at_once) + ' at once':<28}{'exit codes':<20}{'longest run':>11}"
        )
        for name in args.programs:
            counts = ", ".join(
                f"{code}: {count}" for code, count in sorted(codes[name].items())
            )
            print(f"{name:<28}{counts:<20}{longest[name]:>9.1f} s", flush=True)
    print(
        f"{failed} of {args.runs * len(args.way)} runs ended in another way than the program",
        flush=True,
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
