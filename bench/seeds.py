"""Results of the rewrites on programs with one inefficiency each (tests/programs/cases/seeds.py), by `tapelens verify`.

    python bench/seeds.py [NAME...]
    python bench/seeds.py --cuda [--gpu H100] [NAME...]     bytes on a simulated GPU

MB of 10^6 bytes. `expanded-save` rounds otherwise, so its bits differ; the exit code is 1 if any other's do."""
import argparse
import json
import subprocess
import sys

import rewrites

CASE = str(rewrites.ROOT / "tests/programs/cases/seeds.py")
SEEDS = {
    "frozen convolutions": (["--apply", "lossless"], "conv_stack 8"),
    "frozen blocks": (["--apply", "lossless"], "block_stack 8"),
    "first layer of a ResNet": (["--apply", "lossless"], "resnet_first_layer 2"),
    "transformer": (["--apply", "bitwise"], "transformer 4"),
    "cat of one tensor": (["--allow", "trivial-concat"], "jacobian_of_one_chunk 32 64 256 3"),
    "broadcast matmul": (["--allow", "expanded-save"], "broadcast_matmul 64 16 128"),
    "autocast copies": (["--allow", "duplicate-save"], "autocast_copies 6 512"),
    "scan": (["--allow", "scan-save"], "scan_with_an_invariant_weight 64 256"),
    "scan of weights": (["--allow", "scan-save"], "scan_of_weights 64 256"),
    "gradients until the step": (["--allow", "late-gradient"], "wide_layers 8 1024"),
}

ON_CUDA = ["broadcast matmul", "scan", "scan of weights"]


def bytes_on_cuda(options, case, gpu):
    done = subprocess.run([rewrites.TAPELENS, "run", "--quiet", "--gpu", gpu, *options, "--", sys.executable, "-W", "ignore", CASE, "--cuda",
                           *case.split()], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{case}: ended with {done.returncode}:\n{done.stderr[-1500:]}")
    return json.loads(done.stdout.splitlines()[-1])


def print_on_cuda(names, gpu):
    """The bytes that the allocator counts when the backward begins, parameters included, and at the peak."""
    print(f"{'seed':<26}{'with':<24}{'when the backward begins':>26}{'after':>14}{'peak':>14}{'after':>14}")
    for name in names:
        options, case = SEEDS[name]
        bare, rewritten = (bytes_on_cuda(these, case, gpu) for these in ([], options))
        print(f"{name:<26}{' '.join(options):<24}{bare['saved']:>26,}{rewritten['saved']:>14,}{bare['peak']:>14,}{rewritten['peak']:>14,}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SEEDS), metavar="NAME", help=", ".join(SEEDS))
    parser.add_argument("--cuda", action="store_true", help=f"on a simulated GPU: {', '.join(ON_CUDA)}")
    parser.add_argument("--gpu", default="H100", help="GPU to simulate")
    arguments = parser.parse_args()
    names = ON_CUDA if arguments.cuda and arguments.names == list(SEEDS) else arguments.names
    if unknown := set(names) - set(SEEDS):
        parser.error(f"there is no seed {', '.join(sorted(unknown))}: there are {', '.join(SEEDS)}")
    if arguments.cuda:
        return print_on_cuda(names, arguments.gpu)
    print(f"{'seed':<26}{'with':<24}{'peak MB':>9}{'after':>9}{'last step':>11}{'after':>9}{'saved':>9}{'after':>9}  same bits")
    wrong = False
    for name in names:
        options, case = SEEDS[name]
        verdict = rewrites.verdict_of(options, [sys.executable, "-W", "ignore", CASE, *case.split()])
        pairs = [(verdict["bare"][key] / 1e6, verdict["rewritten"][key] / 1e6)
                 for key in ("peak_bytes", "last_step_peak_bytes", "saved_peak_bytes")]
        (peak, last, saved), same = pairs, verdict["identical"]
        wrong = wrong or not (same or "expanded-save" in options)
        print(f"{name:<26}{' '.join(options):<24}{peak[0]:>9.2f}{peak[1]:>9.2f}{last[0]:>11.2f}{last[1]:>9.2f}"
              f"{saved[0]:>9.2f}{saved[1]:>9.2f}  {'yes' if same else 'no'}", flush=True)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
