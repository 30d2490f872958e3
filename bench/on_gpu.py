"""The parts of on_gpu.sh: `counts`, `peaks`. Each prints a Markdown table and ends with 1 if something in it is wrong.

    counts   programs are recorded on the GPU of this machine: the recording's figures against what PyTorch counted
    peaks    programs run bare on that GPU and on a simulated one of its kind: what PyTorch counted, side by side

Needs Python and PyTorch, and for some programs torchvision, timm, transformers; what is not installed is left out, by name."""

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "tests/programs/cases"
sys.path.insert(0, str(ROOT / "tests/programs"))

import cuda_counts  # noqa: E402
import tables  # noqa: E402

# The program after CASES, what it needs, and which part of a GPU of 80 GB or more garbage collection may have.
RECORDED = {
    "samples": (["cuda_samples.py", ROOT / "samples"], (), 0.001),
    "memory": (["cuda_memory.py"], (), 0.01),
    "examples": (["cuda_examples.py"], ("torchvision", "transformers"), 0.04),
    "models": (["cuda_models.py"], ("torchvision", "timm", "transformers"), 0.01),
    "compiled": (["cuda_compiled.py"], ("triton",), 0.001),
    "sequence": (["cuda_sequence.py"], (), 0.02),
}
COMPARED = {
    "samples": (["cuda_samples.py", ROOT / "samples"], ()),
    "streams, pools, graphs": (["cuda_memory.py"], ()),
    "an MLP, AdamW": (["cuda_examples.py", "mlp"], ()),
    "GPT-2, small": (["cuda_examples.py", "gpt2_autocast"], ("transformers",)),
    "a vision transformer in three precisions": (["cuda_examples.py", "vit_precisions"], ("torchvision",)),
    "a checkpointed encoder": (["cuda_examples.py", "checkpointed"], ()),
    "four of torchvision": (["cuda_models.py", "resnet18", "densenet121", "mobilenet_v3", "efficientnet"], ("torchvision",)),
    "four of transformers": (["cuda_models.py", "gpt2", "llama", "bert", "t5"], ("transformers",)),
    "ResNet-50, fine-tuned": (["cuda_run.py", ROOT / "samples/cuda/finetune_resnet.py"], ("torchvision",)),
    "GPT-2 medium": (["cuda_run.py", ROOT / "samples/cuda/gpt.py"], ()),
}


def missing(packages):
    return [name for name in packages if importlib.util.find_spec(name) is None]


def run(command, env):
    """None, or the last thing it said."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env={**os.environ, **env}, timeout=300, check=False)
    if done.returncode == 0:
        return None
    return f"exit code {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}"


def counts(args, folder, deadline):
    print("| program | setting | PyTorch's counts in the recording | |\n| --- | --- | --- | --- |")
    wrong = 0
    for setting in cuda_counts.SETTINGS:
        for name, (program, packages, fraction) in RECORDED.items():
            if setting == "async" or (name == "sequence" and setting not in ("default", "expandable")):
                continue  # PyTorch counts little of cudaMallocAsync
            said = missing(packages) and f"left out: no {', '.join(missing(packages))}"
            if not said and time.monotonic() > deadline:
                said = "left out: no time was left"
            if not said:
                said, fine = recorded(args, folder, name, program, setting, fraction)
                wrong += not fine
            print(f"| {name} | {setting} | {said} |", flush=True)
    return wrong


def recorded(args, folder, name, program, setting, fraction):
    """What to say of one program under one setting, and whether it is as it should be."""
    out, target = folder / "counts.json", folder / "run.tapelens"
    failed = run([args.binary, "record", "--quiet", "-o", target, "--", sys.executable, CASES / program[0], *program[1:]],
                 cuda_counts.environment(setting, out, folder / "caches", fraction))
    if failed:
        return failed, False
    counted = json.loads(out.read_text(encoding="utf-8"))
    if name == "sequence":
        wanted = cuda_counts.named(counted["traces"][0])
        difference = cuda_counts.first_difference(cuda_counts.events_of(tables.Recording(target), counted["pid"], "cuda:0"), wanted)
        return difference or f"the same {len(wanted)} events", difference is None
    report = json.loads(subprocess.run([args.binary, "report", target, "--format", "json"], check=True, capture_output=True).stdout)
    wanted, found = cuda_counts.compared(counted, report)
    if found == wanted:
        return "equal: " + ", ".join(f"{figure} {value}" for figure, value in wanted[0].items()), True
    return "DIFFERENT: " + "; ".join(f"cuda:{gpu} {figure}: PyTorch {value}, recording {found.get(gpu, {}).get(figure)}"
                                     for gpu, figures in wanted.items() for figure, value in figures.items()
                                     if found.get(gpu, {}).get(figure) != value), False


def peaks(args, folder, deadline):
    print(f"Simulated: {args.gpu}. Bytes; the difference is that of the simulated GPU.\n")
    print("| program | requested, real | simulated | | allocated, real | simulated | | reserved, real | simulated | |")
    print("| --- |" + " --- |" * 9)
    wrong = 0
    for name, (program, packages) in COMPARED.items():
        if missing(packages) or time.monotonic() > deadline:
            print(f"| {name} | left out: {'no ' + ', '.join(missing(packages)) if missing(packages) else 'no time was left'} |")
            continue
        cells = {}
        for where, prefix in {"real": [], "simulated": [args.binary, "run", "--simulate-gpu", args.gpu, "--"]}.items():
            out = folder / f"{where}.json"
            failed = run([*prefix, sys.executable, CASES / program[0], *program[1:]],
                         cuda_counts.environment("default", out, folder / "caches", 1))
            if failed:
                print(f"| {name} | {where}: {failed} |", flush=True)
                wrong += 1
                break
            cells[where] = json.loads(out.read_text(encoding="utf-8"))["devices"][0]
        else:
            row = []
            for kind in ("requested", "allocated", "reserved"):
                real, simulated = (cells[where][f"{kind}_bytes.all.peak"] for where in ("real", "simulated"))
                row += [f"{real}", f"{simulated}", f"{simulated / real - 1:+.2%}" if simulated != real else "="]
            print(f"| {name} | {' | '.join(row)} |", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["counts", "peaks"])
    parser.add_argument("--binary", default=ROOT / "build/release/bin/tapelens")
    parser.add_argument("--gpu", default="H200", help="of `tapelens gpus`: the kind that is here")
    parser.add_argument("--seconds", type=float, default=300, help="after so many no other program is begun")
    args = parser.parse_args()
    part = {"counts": counts, "peaks": peaks}[args.part]
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
        sys.exit(1 if part(args, pathlib.Path(folder), time.monotonic() + args.seconds) else 0)


if __name__ == "__main__":
    main()
