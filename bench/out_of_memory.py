"""GPT-2 medium of transformers, batch 16, on 24 GiB, on the simulated GPU. Compares the changes that advise names to
make it fit with runs of the changed program.

    python bench/out_of_memory.py [--binary build/release/bin/tapelens] [--gpu H100:24GiB] [--batch 16]

Reads two recordings: first the one that ends out of memory, which has the run up to the failed request; then one of the
whole run on a larger simulated GPU, as the first one advises. Exit code 1 if the advice for the whole run is wrong: a
named change does not fit, or an unnamed change does.
"""

import argparse
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# The changes of the program that fix the findings of checkpoint-candidate, by the module of the finding.
CHECKPOINTS = {"GPT2LMHeadModel.transformer.h.*": "blocks", "GPT2LMHeadModel.transformer.h.*.mlp": "mlps"}


class Program:
    def __init__(self, args):
        self.binary, self.gpu = args.binary, args.gpu
        self.command = [sys.executable, str(HERE / "programs/gpt2_medium.py"), "--batch", str(args.batch)]

    def fits(self, options=(), arguments=()):
        """Whether all steps succeed on the GPU."""
        run = subprocess.run([self.binary, "run", "--quiet", "--gpu", self.gpu, *options, "--", *self.command, *arguments],
                             capture_output=True, text=True, check=False)
        if run.returncode != 0 and "CUDA out of memory" not in run.stderr:
            sys.exit(run.stderr)
        return run.returncode == 0

    def record(self, target, gpu):
        subprocess.run([self.binary, "record", "--quiet", "-o", target, "--gpu", gpu, "--", *self.command],
                       capture_output=True, check=False)

    def advise(self, target, options=()):
        run = subprocess.run([self.binary, "advise", target, "--format", "json", *options], capture_output=True, check=True)
        return json.loads(run.stdout)


def named_ways(program, advice):
    """Each named change in words, a function that runs it (None: this program has no option for it), and the predicted
    reserved peak."""
    findings = {finding["id"]: (number, finding) for number, finding in enumerate(advice["findings"], 1)}
    for way in advice["advice"]["allocator"]["fits"]["ways"]:
        fixed = [findings[one] for one in way["findings"]]
        words = [*(f"{number}: {finding['title']}" for number, finding in fixed), *filter(None, [way["rewrites"], way["settings"]])]
        run = None
        if not fixed and not way["settings"]:
            run = lambda way=way: program.fits(options=shlex.split(way["rewrites"]))  # noqa: E731
        elif len(fixed) == 1 and fixed[0][1]["check"] == "checkpoint-candidate" and fixed[0][1]["module"] in CHECKPOINTS:
            part = CHECKPOINTS[fixed[0][1]["module"]]
            run = lambda part=part: program.fits(arguments=["--checkpoint", part])  # noqa: E731
        yield ", ".join(words), run, way["reserved_peak_bytes"]


def tell(program, advice):
    ended = {}
    for words, run, reserved in named_ways(program, advice):
        ended[words] = run() if run else None
        said = {True: "the run fits", False: "the run is out of memory later", None: "not run"}[ended[words]]
        print(f"  {reserved / 2**30:6.2f} GiB reserved  {said:31} {words}", flush=True)
    return ended


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parent / "build/release/bin/tapelens"))
    parser.add_argument("--gpu", default="H100:24GiB")
    parser.add_argument("--batch", type=int, default=16)
    args = parser.parse_args()
    program = Program(args)
    with tempfile.TemporaryDirectory() as folder:
        full, whole = f"{folder}/full.tapelens", f"{folder}/whole.tapelens"
        program.record(full, args.gpu)
        advice = program.advise(full)
        fits = advice["advice"]["allocator"]["fits"]
        if fits is None:
            sys.exit("it was not out of memory")
        print(f"Out of memory on {args.gpu} for {fits['failed']['bytes'] / 2**20:.0f} MiB, "
              f"after {fits['whole_steps_before']} whole steps. That request is served with:")
        tell(program, advice)
        record, advise = (shlex.split(command) for command in fits["whole_run_commands"])
        program.record(whole, record[record.index("--gpu") + 1])
        advice = program.advise(whole, advise[advise.index("--fits"):])
        print("The whole run, recorded on a larger GPU, fits with:")
        ended = tell(program, advice)
        named = "\n".join(ended)
        wrong = [words for words, fitted in ended.items() if fitted is False]
        for level in ["lossless", "bitwise"]:
            fitted = program.fits(options=["--apply", level])
            print(f"  --apply {level}: {'named' if f'--apply {level}' in named else 'not named'}, "
                  f"{'fits' if fitted else 'out of memory'}", flush=True)
            if fitted != (f"--apply {level}" in named):
                wrong.append(level)
    return 1 if wrong or True not in ended.values() else 0


if __name__ == "__main__":
    sys.exit(main())
