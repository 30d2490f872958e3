"""Runs cases/cuda_endings.py on a simulated GPU under each command of Tapelens, and checks the end of each run."""

import concurrent.futures
import itertools
import tempfile
import time

import harness

# Exit codes of cases/cuda_endings.py NAME.
ENDINGS = {
    "returns": 0,
    "exits": 3,
    "raises": 1,
    "keeps_its_graph": 0,
    "hooks": 0,
    "custom_function": 0,
    "packs_saves": 0,
    "loads_data": 0,
    "trains_at_exit": 0,
    "trains_in_a_thread": 0,
    "daemon_still_trains": 0,
    "daemon_is_in_its_backward": 0,
    "daemon_computes": 0,
}
WAYS = {
    "run": ["run", "--quiet"],
    "record": ["record", "--quiet", "-o", "{folder}/run.tapelens"],
    "apply": ["run", "--quiet", "--apply", "bitwise"],
}


def end_of(way, name, binary):
    """The run, and its duration in seconds."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        options = [word.format(folder=folder) for word in WAYS[way]]
        command = [
            binary,
            *options,
            "--gpu",
            "H100",
            "--",
            harness.PYTHON,
            harness.CASES / "cuda_endings.py",
            name,
        ]
        run = harness.bare(command, timeout=600)
    return run, time.monotonic() - begin


def wrong(name, run):
    """The difference from the expected end, or None."""
    if run.code != ENDINGS[name]:
        return f"exit code {run.code}, not {ENDINGS[name]}"
    return None if run.stdout == "done\n" else "its output is another"


def ends(way, names, runs, at_once, binary=harness.BINARY):
    """(name, run, seconds) of `runs` runs, `at_once` of them at a time, with the names in turn."""
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        jobs = [
            (name, pool.submit(end_of, way, name, binary))
            for name in itertools.islice(itertools.cycle(names), runs)
        ]
        for name, job in jobs:
            yield (name, *job.result())
