"""Compares predictions of `tapelens advise --apply` with runs of the rewritten program: the peak, and the highest
number of bytes kept for the backward when one begins, of programs recorded bare and recorded with --apply. A figure is
right if it is 1 % off at most, or, where bounds are printed, between them or 1 % beside.

    python bench/predicted.py                   all of them
    python bench/predicted.py gpt resnet18-all
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests/programs"))

import harness  # noqa: E402
import predictions  # noqa: E402
import rewrites_worker  # noqa: E402

LEVELS = ("lossless", "bitwise")


def sample(name, *arguments):
    return [harness.PYTHON, harness.SAMPLES / f"{name}.py", *arguments]


def seed(name, *arguments):
    return [harness.PYTHON, harness.CASES / "seeds.py", name, *arguments]


def net(name):
    return [harness.PYTHON, "-W", "ignore", Path(__file__).with_name("rewrites_worker.py"), name, "2"]


PROGRAMS = {
    "resnet_finetune": sample("resnet_finetune", "--size", "medium"),
    "gpt": sample("gpt", "--size", "medium"),
    "gpt fused": sample("gpt", "--size", "medium", "--fused"),
    "gpt 6 steps": sample("gpt", "--size", "medium", "--steps", "6"),
    "densenet": sample("densenet", "--size", "medium"),
    "gan": sample("gan", "--size", "medium"),
    "lstm": sample("lstm", "--size", "medium"),
    "conv_stack 8": seed("conv_stack", "8"),
    "block_stack 8": seed("block_stack", "8"),
    "transformer 4": seed("transformer", "4"),
    **{name: net(name) for name in rewrites_worker.NETS},
    **{f"architectures {name}": predictions.program(name) for name in predictions.ARCHITECTURES},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--list", action="store_true", help="the names of the programs")
    arguments = parser.parse_args()
    if arguments.list:
        print(*PROGRAMS, sep="\n")
        return
    if unknown := set(arguments.programs) - set(PROGRAMS):
        parser.error(f"unknown program {', '.join(sorted(unknown))}: --list lists the programs")
    width = max(map(len, PROGRAMS))
    print(f"{'program':{width}}  {'level':8}  {'of':5}  {'bare':>13}  {'predicted':>27}  {'measured':>13}  {'off':>8}")
    wrong = 0
    for name in arguments.programs or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            for level in LEVELS:
                for figure in predictions.compare(PROGRAMS[name], Path(folder), level):
                    wrong += not figure.is_right()
                    print(f"{name:{width}}  {level:8}  {figure.of:5}  {figure.bare:13,}  {figure.predicted():>27}  "
                          f"{figure.measured:13,}  {100 * figure.off():+7.2f}%{'' if figure.is_right() else '  WRONG'}", flush=True)
    print(f"{wrong} are wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
