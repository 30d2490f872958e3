"""Memory over long trainings: nothing that Tapelens keeps may grow with the steps.

    python bench/soak.py                       the whole: 13 programs, 10,000 steps, on the CPU and on a simulated GPU
    python bench/soak.py --quick               about 90 s: each way runs all programs in one process
    python bench/soak.py --only sgd bitwise    some programs, ways (record, last, lossless, bitwise, recompute) or devices (cpu, cuda)
    python bench/soak.py --only chains         the states that are written very often, with a stack of 1 MiB

A figure is how much more anonymous memory (RssAnon, MiB) the process has at the end than at step 200, less the same of the
bare program. On a simulated GPU the memory is the host's, and the bare program is `tapelens run --gpu`. Of `record`
there is also the memory of the recorder, the parent process. Exit code 1 where a figure is above --limit, where a program
ended otherwise than bare, or where a figure is missing."""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORKER, CHAINS = ROOT / "bench/soak_worker.py", ROOT / "bench/soak_chains.py"
PROGRAMS = ["sgd", "momentum", "weight_decay", "ema", "polyak", "accumulation", "rnn_state", "gan", "lbfgs", "adam", "foreach", "fused", "autocast"]
# With --quick on the simulated GPU: programs that update their states with recomputable operators, and autocast.
FEW = ["momentum", "ema", "rnn_state", "foreach", "autocast"]
WAYS = {"record": ["record", "--quiet"], "last": ["record", "--quiet", "--last", "3"], "lossless": ["run", "--quiet", "--apply", "lossless"],
        "bitwise": ["run", "--quiet", "--apply", "bitwise"], "recompute": ["run", "--quiet", "--apply", "recompute"]}
DEVICES = {"cpu": [], "cuda": ["--gpu", "H100"]}
LIMIT = 5.0  # MiB
SMALL_STACK = 1024  # KiB


def binary():
    path = os.environ.get("TAPELENS_BINARY", str(ROOT / "build/release/bin/tapelens"))
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is missing: run scripts/build, or set TAPELENS_BINARY")
    return path


def command(way, device, program, folder, *more):
    """`program`, bare or in one of the ways. A recording goes into `folder`."""
    if way == "bare" and device == "cpu":
        return list(map(str, program))
    options = [*(WAYS[way] if way != "bare" else ["run", "--quiet"]), *DEVICES[device], *more]
    if options[0] == "record":
        options += ["-o", f"{folder}/run.tapelens"]
    return [binary(), *options, "--", *map(str, program)]


def environment():
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TAPELENS_") and name != "LD_PRELOAD"}
    return {**kept, "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def soaked(way, device, names, steps):
    """name -> growth in MiB of the process and of the recorder, or the text of an error."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        program = [sys.executable, "-W", "ignore", WORKER, steps, device, *names]
        done = subprocess.run(command(way, device, program, folder), capture_output=True, text=True, env=environment(), check=False)
    found = dict.fromkeys(names, "missing")
    for line in done.stdout.splitlines():
        answer = json.loads(line)
        first, last = answer["samples"][0], answer["samples"][-1]
        found[answer["program"]] = {"process": (last[1] - first[1]) / 1024, "recorder": (last[2] - first[2]) / 1024, "steps": last[0],
                                    "seconds": answer["seconds"], "samples": answer["samples"]}
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or ["no message"])[-1]
        for name in names:
            if found[name] == "missing":
                found[name] = f"exit code {done.returncode}: {said[:200]}"
        if "missing" not in found.values() and not any(isinstance(figure, str) for figure in found.values()):
            found[names[-1]] = f"exit code {done.returncode} after its end: {said[:200]}"
    return found


def verdict(figures, bare, steps, limit=LIMIT):
    """None, or the reason why the growth of a program in one way differs from that of the bare program."""
    if isinstance(bare, str):
        return f"bare: {bare}"
    if isinstance(figures, str):
        return figures
    grown = figures["process"] - bare["process"]
    if grown > limit:
        return f"grew by {grown:.1f} MiB more than bare in {figures['steps']} steps"
    if figures["steps"] != steps:
        return f"only {figures['steps']} steps"
    if figures["recorder"] - bare["recorder"] > limit:
        return f"the recorder grew by {figures['recorder']:.1f} MiB"
    return None


def chains(way, writes, side, kinds=()):
    """Exit code and output of the states that are written very often, with a small stack. Every size is rewritten."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        program = [sys.executable, "-W", "ignore", CHAINS, writes, side, *kinds]
        more = ["--rewrite-min-bytes", "1"] if way in ("lossless", "bitwise", "recompute") else []
        line = ["sh", "-c", f'ulimit -s {SMALL_STACK}; exec "$@"', "sh", *command(way, "cpu", program, folder, *more)]
        done = subprocess.run(line, capture_output=True, text=True, env=environment(), check=False)
    return done.returncode, done.stdout.splitlines(), (done.stderr.strip().splitlines() or [""])[-1]


def chains_verdict(run, bare):
    if run[:2] == bare[:2]:
        return None
    for ours, theirs in zip([*run[1], *[None] * len(bare[1])], bare[1]):
        if ours != theirs:
            return f"exit code {run[0]}; instead of {theirs!r} {'nothing' if ours is None else repr(ours)}. {run[2]}"
    return f"exit code {run[0]}. {run[2]}"


def picked(only, every):
    return [name for name in every if name in only] or list(every)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, help="of each program: 10000, with --quick 400")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", choices=[*PROGRAMS, *WAYS, *DEVICES, "chains"],
                        help="programs, ways, devices; chains: " + ", ".join([*PROGRAMS, *WAYS, *DEVICES, "chains"]))
    parser.add_argument("--quick", action="store_true", help="fewer steps, all programs of a way in one process")
    parser.add_argument("--limit", type=float, default=LIMIT, help="MiB above the bare program")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once")
    parser.add_argument("--json", help="the figures with their samples as a file")
    arguments = parser.parse_args()
    binary()  # or the reason why not
    steps = arguments.steps or (400 if arguments.quick else 10_000)
    names, ways, devices = (picked(arguments.only, every) for every in (PROGRAMS, WAYS, DEVICES))
    reasons, figures = [], {}
    pool = concurrent.futures.ThreadPoolExecutor(arguments.jobs)
    if set(arguments.only) != {"chains"} and not ("chains" in arguments.only and set(arguments.only) <= {"chains", *WAYS}):
        for device in devices:
            taken = [name for name in names if not arguments.quick or device == "cpu" or name in FEW or name in arguments.only]
            groups = [taken] if arguments.quick else [[name] for name in taken]
            asked = {(way, *group): pool.submit(soaked, way, device, group, steps) for group in groups for way in ["bare", *ways]}
            print(f"\n{device}: MiB above bare, {steps} steps\n{'program':<16}{'bare':>9}" + "".join(f"{way:>10}" for way in ways) +
                  "".join(f"{'recorder':>10}" for way in ways if WAYS[way][0] == "record"), flush=True)
            for group in groups:
                found = {way: asked[(way, *group)].result() for way in ["bare", *ways]}
                for name in group:
                    row = {way: found[way][name] for way in found}
                    figures[f"{device} {name}"] = row
                    bare = row["bare"]
                    cells = [f"{bare['process']:>9.2f}" if not isinstance(bare, str) else f"{'failed':>9}"]
                    for way in ways:
                        broken = isinstance(row[way], str) or isinstance(bare, str)
                        cells.append(f"{'failed':>10}" if broken else f"{row[way]['process'] - bare['process']:>+10.2f}")
                    for way in ways:
                        if WAYS[way][0] == "record":
                            cells.append(f"{'':>10}" if isinstance(row[way], str) else f"{row[way]['recorder']:>+10.2f}")
                    wrong = [(way, verdict(row[way], bare, steps, arguments.limit)) for way in ways]
                    wrong = [f"{device} {name}, {way}: {reason}" for way, reason in wrong if reason]
                    reasons += wrong
                    print(f"{name:<16}{''.join(cells)}  {'FAILED' if wrong else 'held'}", flush=True)
    if not arguments.only or "chains" in arguments.only:
        writes = 40_000 if arguments.quick else 200_000
        print(f"\nchains of {writes} writes, a stack of {SMALL_STACK} KiB")
        asked = {way: pool.submit(chains, way, writes, 8) for way in ["bare", *ways]}
        bare = asked["bare"].result()
        if bare[0] != 0:
            reasons.append(f"chains, bare: exit code {bare[0]}")
        for way in ways:
            reason = chains_verdict(asked[way].result(), bare)
            print(f"{way:<16}{reason or 'as bare'}", flush=True)
            if reason:
                reasons.append(f"chains, {way}: {reason}")
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(figures), encoding="utf-8")
    print("\n" + ("\n".join(reasons) if reasons else "held"))
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
