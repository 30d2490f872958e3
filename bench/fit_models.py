"""Fits twelve models into three sizes each by `tapelens run --fit` on a simulated GPU, and measures their peaks there.

    python bench/fit_models.py [--gpu H100] [--parts 0.85 0.7 0.55] [--binary build/release/bin/tapelens] [NAME...]

A size is a part of the bytes that the model reserves without rewrites. For each size the table has the plan that `run --fit
--write-plan` writes, the bytes that it predicts, and those that a recording with `--apply PLAN` reserves on a GPU of that
size; or the least size that was found. The models are those of bench/programs/models.py.

The exit code is 1 if a run fails, needs more than its size, or differs from the prediction by more than 1 % of the size."""
import argparse
import pathlib
import sys
import tempfile
import time

import fit_plan

HERE = pathlib.Path(__file__).resolve().parent
MODELS = HERE / "programs/models.py"
sys.path.insert(0, str(MODELS.parent))
import models  # noqa: E402  of the folder above

OPTIONS = {"fsdp2": ["--world", "8"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(HERE.parent / "build/release/bin/tapelens"))
    parser.add_argument("--gpu", default="H100")
    parser.add_argument("--parts", nargs="+", type=float, default=[0.85, 0.7, 0.55])
    parser.add_argument("names", nargs="*", default=list(models.MODELS), metavar="NAME")
    args = parser.parse_args()
    is_right = True
    for name in args.names:
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            tapelens = fit_plan.Tapelens(args.binary, args.gpu, [sys.executable, str(MODELS), name], pathlib.Path(folder),
                                         OPTIONS.get(name, []))
            stock = tapelens.recorded(args.gpu, [])
            if stock is None:
                is_right = False
                continue
            print(f"\n{name}: {stock[1]:,} bytes are reserved without rewrites", end="", flush=True)
            is_right &= fit_plan.show_sizes(tapelens, [int(part * stock[1]) for part in args.parts])
            print(f"{time.monotonic() - begin:.0f} s", flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
