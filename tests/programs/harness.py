"""Runs a command alone and under `tapelens record`, and reads reports. The tests find their binaries through the
environment, which tests/programs/CMakeLists.txt sets: TAPELENS_BINARY, TAPELENS_TRAINER, TAPELENS_FAKE_TORCH."""

import dataclasses
import functools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys

import jsonschema

PYTHON = os.environ.get("TAPELENS_TRIED_PYTHON", sys.executable)  # it runs the programs; scripts/try-python sets it
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES = ROOT / "samples"
CASES = HERE / "cases"
BINARY = pathlib.Path(os.environ.get("TAPELENS_BINARY", ROOT / "build/release/bin/tapelens"))
PACKAGE = BINARY.parents[1] / "lib/tapelens/python"
INJECT = BINARY.parents[1] / "lib/tapelens/libtapelens_inject.so"
TRAINER = os.environ.get("TAPELENS_TRAINER", str(BINARY.parent / "trainer"))
SCHEMA = ROOT / "docs/report.schema.json"


@dataclasses.dataclass
class Run:
    code: int
    stdout: str
    stderr: str

    def said(self):
        return (self.code, self.stdout, self.stderr)


def environment(extra=None):
    """The environment of both the bare and the recorded program. Without OMP_NUM_THREADS, torchrun prints a warning
    with a time."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TAPELENS_", "PYTEST_")) and k != "LD_PRELOAD"}
    env.update({"OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "TOKENIZERS_PARALLELISM": "false"})
    env.update(extra or {})
    return env


def bare(command, env=None, timeout=300, check=False, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, env=environment(env),
                          timeout=timeout, check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return Run(done.returncode, done.stdout, done.stderr)


def unstamped(text):
    """Removes the time and the process id from the lines of PyTorch's log."""
    return re.sub(r"[A-Z]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ ", "", text)


def recording(command, target, options=(), quiet=True):
    """The command line that records `command` into `target`."""
    flags = ["--quiet"] if quiet else []
    return [BINARY, "record", *flags, "-o", target, *options, "--", *command]


def record(command, target, options=(), quiet=True, **kwargs):
    return bare(recording(command, target, options, quiet), **kwargs)


@functools.lru_cache
def validator(part=None):
    """A validator for a report, or for the part of its schema named `part` in `$defs`."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    if part is not None:
        schema = {"$schema": schema["$schema"], "$defs": schema["$defs"], "$ref": f"#/$defs/{part}"}
    return kind(schema)


def report(target, options=()):
    """The JSON report of a sealed file; it is validated on the way."""
    done = bare([BINARY, "report", target, "--format", "json", *options])
    assert done.code == 0, f"report ended with {done.code}: {done.stderr}"
    value = json.loads(done.stdout)
    validator().validate(value)
    return value


def advise(target, options=(), **kwargs):
    """The validated JSON of `tapelens advise`."""
    done = bare([BINARY, "advise", target, "--format", "json", *options], **kwargs)
    assert done.code == 0, f"advise ended with {done.code}: {done.stderr}"
    assert done.stderr == ""
    value = json.loads(done.stdout)
    validator("advise").validate(value)
    return value


def lost(value, allowed=()):
    """The losses of a recording, except for the kinds that the test expects."""
    return [loss for loss in value["recording"]["lost"] if loss["kind"] not in allowed and loss["count"]]


def record_and_report(command, target, options=(), report_options=(), **kwargs):
    """For programs that must succeed: the run and its report."""
    run = record(command, target, options, **kwargs)
    assert run.code == 0, f"{command} ended with {run.code}:\n{run.stdout}{run.stderr}"
    return run, report(target, report_options)


def unexplained(report):
    """Allocations of 1 KiB or more in the peak set without an operator or a holder. No operator allocates the state
    that a random generator returns; its innermost frame must be get_rng_state()."""
    def without_operator(allocation):
        return bool(allocation["stack"]) and allocation["stack"][0]["function"] == "get_rng_state"
    return [a for a in report["peak"]["allocations"] if a["bytes"] >= 1024
            and not (a["holders"] and (a["operator"] or without_operator(a)))]


def tally_rows(folder):
    """Counts of rewrites that processes wrote to TAPELENS_TALLY (policy/tally_file.h): rewrite, reason (None: applied),
    times, bytes, kept."""
    for file in sorted(pathlib.Path(folder).iterdir()):
        data = file.read_bytes()
        magic, rows, _, left_out = struct.unpack_from("<QIIQ", data)
        assert magic == 0x32594C4C4154534C and left_out == 0, file
        for number in range(rows):
            rewrite, reason, _, _, _, times, size, kept = struct.unpack_from("<48s160sIIQQQQ", data, 32 + 248 * number)
            rewrite, reason = (text.split(b"\0")[0].decode() for text in (rewrite, reason))
            yield rewrite, reason or None, times, size, kept


def torchrun(*command):
    return [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *command]


def in_order(run):
    """Repeats a run of two ranks until it exits normally. Even a bare rank sometimes aborts at its exit, when a thread
    of gloo requests the GIL (1 of 12 bare runs on a busy machine). Such a run is inconclusive."""
    for _ in range(5):
        ended = run()
        if ended.code == 0 or "terminate called without an active exception" not in ended.stderr:
            break
    assert ended.code == 0, ended.stderr
    return ended


def nothing_differs(run, verdict):
    """Whether all values are equal. If no rewrite applied, the run has no verdict."""
    applied = bool(verdict["applied"])
    assert (run.code, verdict["identical"]) == ((0, True) if applied else (5, False)), run.stderr + str(verdict)
    assert applied or verdict["why_nothing_applied"], verdict
    return verdict["first_difference"] is None and verdict["deterministic"]
