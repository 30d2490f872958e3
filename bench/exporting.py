"""Cost of `tapelens export` for a synthetic recording of ten million events: seconds, memory and bytes of each format,
and those of `tapelens report` for comparison.

    scripts/build analyzer tapelens tapelens-synthetic
    python bench/exporting.py [--binary build/analyzer/bin/tapelens] [--events 10000000]
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
FORMATS = ("perfetto", "snapshot", "speedscope", "sqlite")


def measured(command):
    """The seconds and the peak memory in MiB of the command."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.monotonic() - begin, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=HERE.parent / "build/analyzer/bin/tapelens")
    parser.add_argument("--events", type=int, default=10_000_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tapelens-bench-") as folder:
        recording = f"{folder}/run.tapelens"
        subprocess.run([args.binary.parent / "tapelens-synthetic", f"{folder}/spools", str(args.events)], check=True)
        subprocess.run([args.binary, "seal", f"{folder}/spools", "-o", recording], check=True)
        print(f"{'recording':12} {'':>8}   {'':>10}   {os.stat(recording).st_size / 2**20:8.1f} MiB")
        seconds, memory = measured([args.binary, "report", recording])
        print(f"{'report':12} {seconds:8.2f} s {memory:8.0f} MiB of memory", flush=True)
        for name in FORMATS:
            out = f"{folder}/out.{name}"
            seconds, memory = measured([args.binary, "export", recording, "--format", name, "-o", out])
            print(f"{name:12} {seconds:8.2f} s {memory:8.0f} MiB of memory {os.stat(out).st_size / 2**20:8.1f} MiB written",
                  flush=True)
            os.unlink(out)


if __name__ == "__main__":
    main()
