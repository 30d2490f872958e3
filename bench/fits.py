"""Finds the largest batch of three programs on three GPUs by `tapelens fit`, and tests it: run bare on the simulated
GPU, the program succeeds with this batch, and is out of memory with one more.

    python bench/fits.py [--binary build/release/bin/tapelens] [--gpu H100 ...] [PROGRAM...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {
    "gpt2_medium": [HERE / "programs/gpt2_medium.py"],
    "resnet50": [HERE / "programs/resnet50.py"],
    "samples/cuda/gpt.py": [HERE.parent / "samples/cuda/gpt.py"],
}


def bare(binary, gpu, command, batch):
    """Whether the program succeeds; None for an error other than out of memory."""
    run = subprocess.run([binary, "run", "--quiet", "--gpu", gpu, "--", *command, "--batch", str(batch)],
                         capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return True
    return False if "CUDA out of memory" in run.stderr else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parent / "build/release/bin/tapelens"))
    parser.add_argument("--gpu", nargs="+", default=["A100-40GB", "RTX-4090", "H100"])
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), metavar="PROGRAM")
    args = parser.parse_args()
    is_proven = True
    for name in args.programs:
        command = [sys.executable, *map(str, PROGRAMS[name])]
        begin = time.monotonic()
        found = json.loads(subprocess.run(
            [args.binary, "fit", "--format", "json", "--gpu", ",".join(args.gpu), "--vary", "1..1024", "--",
             *command, "--batch", "{}"], stdout=subprocess.PIPE, check=False).stdout)
        took = time.monotonic() - begin
        for series in found["series"]:
            largest, gpu = series["largest"], series["gpu"]
            if largest is None:
                is_proven = False
                print(f"{name:22} {gpu:10} {series['answer']}", flush=True)
                continue
            proof = bare(args.binary, gpu, command, largest), bare(args.binary, gpu, command, largest + 1)
            is_proven &= proof == (True, False) and series["settled"]
            point = next(point for point in series["points"] if point["size"] == largest)
            print(f"{name:22} {gpu:10} largest {largest:4}, {point['allocated_bytes'] / 2**30:6.2f} GiB allocated, "
                  f"{point['reserved_bytes'] / 2**30:6.2f} reserved of {series['memory_bytes'] / 2**30:6.2f}; "
                  f"{len(series['points'])} runs; bare: {largest} {proof[0]}, {largest + 1} {proof[1]}", flush=True)
        print(f"{name:22} {took:.0f} s for {sum(len(series['points']) for series in found['series'])} runs", flush=True)
    return 0 if is_proven else 1


if __name__ == "__main__":
    sys.exit(main())
