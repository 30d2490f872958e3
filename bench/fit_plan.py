"""Measures `tapelens run --fit` on a simulated GPU, by the counts of PyTorch's allocator in the runs. Prints two tables.

    python bench/fit_plan.py [--gpu H100] [--sizes 15GB 11GB 9GB] [--binary build/release/bin/tapelens] [PROGRAM ARGUMENTS...]

The first table has the peaks of the program with each choice of rewrites: allocated and reserved bytes, and the most bytes of the host's memory
that offloaded saves took. The second has, for each size, the plan that `run --fit --write-plan` writes, the bytes that it predicts, and those of a
recording with `--apply PLAN` on a GPU of that size.

The program is samples/cuda/gpt.py by default. The exit code is 1 if a run needs more than its size, or differs from the prediction by more than
1 % of the size."""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CHOICES = ["", "--apply lossless", "--apply bitwise", "--apply recompute", "--allow offload", "--apply bitwise --allow offload",
           "--apply recompute --allow offload"]
MOST_OFF = 0.01


class Tapelens:
    def __init__(self, binary, gpu, program, folder, options=()):
        """`options`: of every recording and plan."""
        self.binary, self.gpu, self.program, self.folder, self.options = binary, gpu, program, folder, options

    def run(self, *words):
        return subprocess.run([self.binary, *map(str, words)], capture_output=True, text=True, check=False)

    def recorded(self, gpu, options):
        """Allocated and reserved peak of the GPU, and the host's memory as the closing line has it; None: the program failed."""
        recording = self.folder / "run.tapelens"
        run = self.run("record", "-o", recording, "--gpu", gpu, *self.options, *options, "--", *self.program)
        if run.returncode != 0:
            print(run.stderr, file=sys.stderr)
            return None
        report = json.loads(self.run("report", recording, "--format", "json").stdout)
        devices = [device for process in report["processes"] for device in process["devices"] if "reserved_peak_bytes" in device]
        on_host = re.search(r"at most (.*?) of host memory", run.stderr)
        peaks = [max(device[key] for device in devices) for key in ("allocated_peak_bytes", "reserved_peak_bytes")]
        return *peaks, on_host[1] if on_host else ""

    def planned(self, size):
        """The plan for a size; None: none was found."""
        path = self.folder / "plan.json"
        run = self.run("run", "--fit", size, "--gpu", self.gpu, *self.options, "--write-plan", path, "--force", "--", *self.program)
        if run.returncode != 0:
            print(f"{size:>14}  {run.stderr.strip().splitlines()[-1].removeprefix('tapelens: ')}", flush=True)
            return None
        return path, json.loads(path.read_text())


def show_choices(tapelens):
    print(f"{'rewrites':36} {'allocated':>15} {'reserved':>15}  host memory", flush=True)
    for choice in CHOICES:
        measured = tapelens.recorded(tapelens.gpu, choice.split())
        if measured is None:
            return False
        print(f"{choice or 'none':36} {measured[0]:15,} {measured[1]:15,}  {measured[2]}", flush=True)
    return True


def show_sizes(tapelens, sizes):
    print(f"\n{'size':>14}  {'plan':36} {'predicted':>15} {'reserved':>15}  part of the size", flush=True)
    is_right = True
    for size in sizes:
        found = tapelens.planned(size)
        if found is None:
            continue
        path, plan = found
        most, predicted = plan["predicted"]["size_bytes"], plan["predicted"]["bytes"]
        measured = tapelens.recorded(f"{tapelens.gpu}:{most}", ["--apply", path])
        budget = "" if plan["recompute_budget"] is None else f" {plan['recompute_budget']:.0%}"
        words = " and ".join([(plan["level"] or "no rewrites") + budget, *plan["allow"]])
        if measured is None:
            is_right = False
            continue
        is_right &= measured[1] <= most and abs(measured[1] - predicted) <= MOST_OFF * most
        print(f"{size:>14}  {words:36} {predicted:15,} {measured[1]:15,}  {measured[1] / most:.1%}", flush=True)
    return is_right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build/release/bin/tapelens"))
    parser.add_argument("--gpu", default="H100")
    parser.add_argument("--sizes", nargs="+", default=["15GB", "11GB", "9GB"])
    parser.add_argument("program", nargs=argparse.REMAINDER, metavar="PROGRAM")
    args = parser.parse_args()
    program = [sys.executable, *(args.program or [str(ROOT / "samples/cuda/gpt.py")])]
    with tempfile.TemporaryDirectory() as folder:
        tapelens = Tapelens(args.binary, args.gpu, program, pathlib.Path(folder))
        is_right = show_choices(tapelens)
        return 0 if show_sizes(tapelens, args.sizes) and is_right else 1


if __name__ == "__main__":
    sys.exit(main())
