"""Measures the overhead of recording a CUDA program, and that of PyTorch's own memory history, in turns as overhead.py does.

    python bench/overhead_cuda.py [--gpu H100] [--rounds 15] [--json OUT]     on a simulated GPU
    python bench/overhead_cuda.py --real                                      on the GPU of this machine

On a simulated GPU kernels take no time: a step is the work of the host, so the whole overhead is visible. Bare is
`tapelens run --gpu` there. The second row is bare again, and shows the noise of the measurement."""

import argparse
import json
import pathlib
import shutil
import tempfile
import time

import overhead

CASES = ("gpt_cuda", "resnet50_cuda")
STEPS = 5  # a turn


def ways(case, binary, folder, simulated):
    simulating = ["--gpu", simulated] if simulated else []
    run = [binary, "run", *simulating, "--"] if simulated else []

    def record(name, *options):
        return [binary, "record", "--quiet", "--max-size", "32GiB", *options, *simulating, "-o", folder / f"{name}.tapelens", "--"]

    return [overhead.Way("bare", case, run),
            overhead.Way("bare again", case, run),
            overhead.Way("tapelens", case, record(f"{case}-stacks")),
            overhead.Way("tapelens --cupti", case, record(f"{case}-cupti", "--cupti")),
            overhead.Way("tapelens, no stacks", case, record(f"{case}-none", "--stacks", "none")),
            overhead.Way("_record_memory_history", case, run, "history"),
            overhead.Way("_record_memory_history, python stacks", case, run, "history python"),
            overhead.Way("_record_memory_history, all stacks", case, run, "history all"),
            overhead.Way("torch.profiler memory", case, run, "memory")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=overhead.HERE.parent / "build/release/bin/tapelens")
    parser.add_argument("--gpu", default="H100", help="which is simulated")
    parser.add_argument("--real", action="store_true", help="simulate none")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="after so many no other case is begun")
    parser.add_argument("--json", help="write the figures there too")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tapelens-bench-"))
    try:
        rows = []
        overhead.table_head()
        begin = time.monotonic()
        for case in args.cases:
            if time.monotonic() - begin > args.seconds:
                print(f"{case:13} left out: no time was left")
                continue
            for row in overhead.measure(case, ways(case, args.binary, folder, None if args.real else args.gpu), STEPS, args.rounds):
                overhead.show(row)
                rows.append(row)
            if args.json:
                figures = {"simulated": None if args.real else args.gpu, "steps": rows}
                pathlib.Path(args.json).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
