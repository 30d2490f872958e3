"""The parts of on_gpu.sh: `counts`, `cupti`, `peaks`. Each prints a Markdown table and ends with 1 if something in it is wrong.

    counts   programs are recorded on the GPU of this machine: the recording's figures against what PyTorch counted, its events against
             PyTorch's own history, and the replay of the allocator (`tapelens advise`) against both
    cupti    a program with `record --cupti`: what PyTorch reserved, what CUPTI told of the rest, and CUDA's context, against NVML
    peaks    programs run bare on that GPU and on a simulated one of its kind: what PyTorch counted, side by side

With --simulate-gpu `counts` and `cupti` run on a simulated GPU: that tests this script, and proves nothing of a real one.
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


def record(args):
    return [args.binary, "record", "--quiet", *(["--simulate-gpu", args.simulate_gpu] if args.simulate_gpu else [])]


def read(args, command, target, *options):
    """A recording's report, or the advice about it."""
    done = subprocess.run([args.binary, command, target, "--format", "json", *options], check=True, capture_output=True)
    return json.loads(done.stdout)


def counts(args, folder, deadline):
    print("| program | setting | PyTorch's counts in the recording | replay of the allocator |\n| --- | --- | --- | --- |")
    wrong = 0
    for setting in cuda_counts.SETTINGS:
        for name, (program, packages, fraction) in RECORDED.items():
            if setting == "async" or (name == "sequence" and setting not in ("default", "expandable")):
                continue  # PyTorch counts little of cudaMallocAsync
            replay = ""
            said = missing(packages) and f"left out: no {', '.join(missing(packages))}"
            if not said and time.monotonic() > deadline:
                said = "left out: no time was left"
            if not said:
                said, fine, counted = recorded(args, folder, name, program, setting, fraction)
                wrong += not fine
                if counted is not None:
                    replay, fine = replayed(args, folder, counted)
                    wrong += not fine
            print(f"| {name} | {setting} | {said} | {replay} |", flush=True)
    return wrong


def recorded(args, folder, name, program, setting, fraction):
    """What to say of one program under one setting, whether it is as it should be, and what PyTorch counted."""
    out, target = folder / "counts.json", folder / "run.tapelens"
    failed = run([*record(args), "-o", target, "--", sys.executable, CASES / program[0], *program[1:]],
                 cuda_counts.environment(setting, out, folder / "caches", fraction))
    if failed:
        return failed, False, None
    counted = json.loads(out.read_text(encoding="utf-8"))
    if name == "sequence":
        wanted = cuda_counts.named(counted["traces"][0])
        difference = cuda_counts.first_difference(cuda_counts.events_of(tables.Recording(target), counted["pid"], "cuda:0"), wanted)
        return difference or f"the same {len(wanted)} events", difference is None, counted
    report = read(args, "report", target)
    wanted, found = cuda_counts.compared(counted, report)
    if found == wanted:
        return "equal: " + ", ".join(f"{figure} {value}" for figure, value in wanted[0].items()), True, counted
    return "DIFFERENT: " + "; ".join(f"cuda:{gpu} {figure}: PyTorch {value}, recording {found.get(gpu, {}).get(figure)}"
                                     for gpu, figures in wanted.items() for figure, value in figures.items()
                                     if found.get(gpu, {}).get(figure) != value), False, counted


def replayed(args, folder, counted):
    """What to say of the replay: each block and segment where the real allocator had it, and its peak of what is reserved."""
    events = 0
    for number, counts in enumerate(counted["devices"]):
        if not counts["allocation.all.allocated"]:
            continue
        found = read(args, "advise", folder / "run.tapelens", "--device", f"cuda:{number}")["advice"]["allocator"]
        if found is None:
            return f"cuda:{number}: NO REPLAY", False
        if found["replay_differs"] is not None:
            return f"cuda:{number} DIFFERENT: {found['replay_differs']}", False
        if found["reserved_peak_before_bytes"] != counts["reserved_bytes.all.peak"]:
            return f"cuda:{number} DIFFERENT: reserved {found['reserved_peak_before_bytes']}", False
        events += found["compared_events"]
    return f"the same {events} events", True


def cupti(args, folder, _deadline):
    """NVML's figure is of the whole device. What neither PyTorch nor CUPTI tells of is CUDA's context and other processes: the program
    measures that itself before it begins. The rest has to add up to 1 % of what is in use."""
    out, target = folder / "counts.json", folder / "run.tapelens"
    failed = run([*record(args), "--cupti", "-o", target, "--", sys.executable, CASES / "cuda_half.py"],
                 cuda_counts.environment("default", out, folder / "caches", 1))
    if failed:
        print(failed)
        return 1
    counted = json.loads(out.read_text(encoding="utf-8"))
    outside = read(args, "report", target, "--device", "cuda:0")["peak"]["outside"]
    if outside is None or outside["device_use"] is None:
        print("DIFFERENT: the recording has nothing of CUPTI or NVML")
        return 1
    use = outside["device_use"]
    told = use["reserved_bytes"] + use["outside_bytes"]
    rows = {"in use, by NVML, beside what the program asked of the driver": (use["used_bytes"], counted["used"]),
            "PyTorch's and CUPTI's, with what was in use before, beside NVML's": (told + counted["before"], use["used_bytes"])}
    print("| bytes | found | wanted | difference |\n| --- | --- | --- | --- |")
    wrong = 0
    for name, (found, wanted) in rows.items():
        wrong += abs(found - wanted) > wanted / 100
        print(f"| {name} | {found} | {wanted} | {found / wanted - 1:+.3%} |")
    print(f"\nCUPTI told of {use['outside_bytes']} bytes outside of PyTorch, in use before were {counted['before']}.")
    return wrong


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
    parser.add_argument("part", choices=["counts", "cupti", "peaks"])
    parser.add_argument("--binary", default=ROOT / "build/release/bin/tapelens")
    parser.add_argument("--gpu", default="H200", help="of `tapelens gpus`: the kind that is here")
    parser.add_argument("--simulate-gpu", metavar="GPU", help="run `counts` and `cupti` on a simulated one")
    parser.add_argument("--seconds", type=float, default=300, help="after so many no other program is begun")
    args = parser.parse_args()
    part = {"counts": counts, "cupti": cupti, "peaks": peaks}[args.part]
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
        sys.exit(1 if part(args, pathlib.Path(folder), time.monotonic() + args.seconds) else 0)


if __name__ == "__main__":
    main()
