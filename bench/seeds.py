"""Results of the rewrites on programs with one inefficiency each (tests/programs/cases/seeds.py), by `tapelens verify`.

    python bench/seeds.py [NAME...]

MB of 10^6 bytes. `expanded-save` rounds otherwise, so its bits differ; the exit code is 1 if any other's do."""
import argparse
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
    "gradients until the step": (["--allow", "late-gradient"], "wide_layers 8 1024"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(SEEDS), metavar="NAME", help=", ".join(SEEDS))
    names = parser.parse_args().names
    if unknown := set(names) - set(SEEDS):
        parser.error(f"there is no seed {', '.join(sorted(unknown))}: there are {', '.join(SEEDS)}")
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
