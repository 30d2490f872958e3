"""Training programs with models of packages from PyPI, through `tapelens verify`: one table.

    python bench/programs.py [NAME...] [--apply lossless|bitwise] [--json FILE]

Runs each program of bench/programs/ bare and rewritten. Checks that every loss, gradient and parameter has the same
bits, and compares the peak, the most bytes saved for a backward and the time of a step (both runs are recorded).
Installs nothing: a program without its packages is skipped, and a line names the missing packages. The exit code is 1
if a program differs or fails."""
import argparse
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TAPELENS = os.environ.get("TAPELENS_BINARY", str(ROOT / "build/release/bin/tapelens"))
# Imports of each program by their names on PyPI. The package of the model comes first.
PACKAGES = {
    "torchvision_deeplab": ["torchvision"],
    "torchvision_densenet": ["torchvision"],
    "torchvision_efficientnet": ["torchvision"],
    "torchvision_fasterrcnn": ["torchvision"],
    "torchvision_mobilenet_v3": ["torchvision"],
    "torchvision_raft": ["torchvision"],
    "torchvision_resnet50": ["torchvision"],
    "torchvision_style_transfer": ["torchvision"],
    "torchvision_vit": ["torchvision"],
    "transformers_bert": ["transformers"],
    "transformers_gpt2": ["transformers"],
    "transformers_llama_bf16": ["transformers"],
    "transformers_mamba": ["transformers"],
    "transformers_mistral_checkpointed": ["transformers"],
    "transformers_t5": ["transformers"],
    "transformers_whisper": ["transformers"],
    "peft_lora": ["peft", "transformers"],
    "timm_convnext": ["timm"],
    "timm_distillation": ["timm"],
    "timm_mixer": ["timm"],
    "timm_swin": ["timm"],
    "diffusers_ddpm": ["diffusers"],
    "diffusers_vae": ["diffusers"],
    "einops_mixer": ["einops"],
    "gpytorch_exact": ["gpytorch"],
    "higher_maml": ["higher"],
    "kornia_augmented": ["kornia"],
    "metric_learning_triplets": ["pytorch-metric-learning", "torchvision"],
    "normflows_realnvp": ["normflows"],
    "opacus_dp": ["opacus"],
    "reformer_reversible": ["reformer-pytorch"],
    "siren_pinn": ["siren-pytorch"],
    "smp_unet": ["segmentation-models-pytorch"],
    "stable_baselines3_ppo": ["stable-baselines3"],
    "torch_geometric_gat": ["torch-geometric"],
    "torchdiffeq_adjoint": ["torchdiffeq"],
    "torchjd_backward": ["torchjd"],
    "torchjd_multitask": ["torchjd", "torchvision"],
    "vector_quantize": ["vector-quantize-pytorch"],
    "vit_pytorch_cct": ["vit-pytorch"],
    "x_transformers_decoder": ["x-transformers"],
}
SAID = {0: "yes", 1: "**no**", 3: "nothing compared", 4: "recording not complete", 5: "not deterministic"}
HEADINGS = ["program", "package", "same bits", "gradients", "peak MB", "after", "ratio", "saved MB", "after", "ratio",
            "step time"]
WIDTHS = [34, 39, 17, 9, 8, 8, 6, 8, 8, 6, 9]


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def verified(name, apply):
    """The exit code of `tapelens verify`, its verdict if it has one, and its messages."""
    with tempfile.TemporaryDirectory() as folder:
        verdict = pathlib.Path(folder, "verdict.json")
        done = subprocess.run([TAPELENS, "verify", "--apply", apply, "--format", "json", "-o", str(verdict), "--",
                               sys.executable, "-W", "ignore", str(ROOT / f"bench/programs/{name}.py")],
                              capture_output=True, text=True, check=False)
        read = json.loads(verdict.read_text(encoding="utf-8")) if verdict.exists() and verdict.stat().st_size else None
        return done.returncode, read, done.stderr


def row(cells):
    return "| " + " | ".join(str(cell).ljust(width) for cell, width in zip(cells, WIDTHS)) + " |"


def measured(verdict):
    bare, ours = verdict["bare"], verdict["rewritten"]
    cells = [verdict["compared"]["gradients"]]
    for key in ("peak_bytes", "saved_peak_bytes"):
        ratio = f"{ours[key] / bare[key]:.3f}" if bare[key] else ""
        cells += [f"{bare[key] / 1e6:.2f}", f"{ours[key] / 1e6:.2f}", ratio]
    return cells + [f"{ours['step_ns'] / bare['step_ns']:.2f}" if bare["step_ns"] else ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(PACKAGES), metavar="NAME", help=", ".join(PACKAGES))
    parser.add_argument("--apply", choices=["lossless", "bitwise"], default="bitwise")
    parser.add_argument("--json", help="the verdicts as a file")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in PACKAGES]
    if unknown:
        parser.error(f"unknown program {', '.join(unknown)}")
    print(row(HEADINGS))
    print("|" + "|".join("-" * (width + 2) for width in WIDTHS) + "|")
    verdicts, bad = {}, 0
    for name in arguments.names:
        missing = [package for package in PACKAGES[name] if version(package) is None]
        if missing:
            print(f"{name} is skipped: it needs {' '.join(missing)} from PyPI", file=sys.stderr, flush=True)
            continue
        code, verdict, said = verified(name, arguments.apply)
        verdicts[name] = {"exit_code": code, "verdict": verdict}
        bad += code not in (0, 5)
        package = PACKAGES[name][0]
        figures = measured(verdict) if verdict and code in (0, 1) else [""] * (len(HEADINGS) - 3)
        print(row([name, f"{package} {version(package)}", SAID.get(code, "failed"), *figures]), flush=True)
        if code:
            print(f"{name}: tapelens verify ended with {code}:\n{said[-1500:]}", file=sys.stderr, flush=True)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(verdicts, indent=1), encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
