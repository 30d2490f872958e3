"""Figures of each step and of the run, for loggers."""

from __future__ import annotations

import contextlib
import json
import pathlib
import statistics
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tapelens import _spools
from tapelens._recorded import is_recorded
from tapelens._recording import Process, Recording


@contextlib.contextmanager
def process_of(recording: Recording | None, pid: int | None = None) -> Iterator[Process | None]:
    """The process with that pid of a recording, by default its first one. Without a recording: this process up to now.
    None if this process is not recorded, or the recording has no such process."""
    if recording is not None:
        chosen = [process for process in recording.processes if pid in (None, process.pid)]
        yield chosen[0] if chosen else None
    elif not is_recorded():
        yield None
    else:
        with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
            sealed = _spools.seal(pathlib.Path(folder) / "now.tapelens")
            yield _spools.this_process(sealed) if sealed is not None else None


def of_steps(process: Process) -> dict[int, dict[str, float]]:
    by_step: dict[int, dict[str, float]] = {}
    before: dict[str, tuple[int, int]] = {}  # by device: the step before, and the bytes at its begin
    for step in process.steps.rows():
        peaks = process.peaks_between(step["begin_ns"], step["end_ns"], by="category", top=100)
        (peak,) = (peak for peak in peaks if peak.device == step["device"])
        saved = sum(group.bytes for group in peak.groups if group.key == "saved")
        name = f"memory/{step['device']}"
        by_step.setdefault(step["step"], {}).update({
            f"{name}/peak_bytes": step["peak_bytes"], f"{name}/saved_at_peak_bytes": saved,
            f"{name}/allocations": step["allocations"]})
        if step["device"] in before:
            index, begin_bytes = before[step["device"]]
            by_step[index][f"{name}/growth_bytes"] = step["begin_live_bytes"] - begin_bytes
        before[step["device"]] = step["step"], step["begin_live_bytes"]
    return by_step


def of_run(process: Process, by_step: dict[int, dict[str, float]]) -> dict[str, float]:
    """The figures of the run on each device that it used."""
    figures: dict[str, float] = {}
    for device in process.devices.rows():
        if device["peak_bytes"] == 0:
            continue
        report = json.loads(process.recording.report("json", pid=process.pid, device=device["device"], top=0))
        name = f"memory/run/{device['device']}"
        saved = sum(group["bytes"] for group in report["peak"]["by_category"] if group["name"] == "saved")
        figures[f"{name}/peak_bytes"] = device["peak_bytes"]
        figures[f"{name}/saved_at_peak_bytes"] = saved
        if report["advice"] is not None:
            figures[f"{name}/avoidable_bytes"] = device["peak_bytes"] - report["advice"]["peak_after_all_bytes"]
        if device["reserved_peak_bytes"] is not None:
            figures[f"{name}/reserved_peak_bytes"] = device["reserved_peak_bytes"]
        # The first step leaves gradients and the optimizer's state, which do not count as growth.
        growth = [by_step[step].get(f"memory/{device['device']}/growth_bytes") for step in sorted(by_step)[1:]]
        if known := [value for value in growth if value is not None]:
            figures[f"{name}/growth_bytes_per_step"] = statistics.median(known)
    return figures


def scalars(recording: Recording | None = None, pid: int | None = None) -> dict[int, dict[str, float]]:
    """By step: `memory/DEVICE/peak_bytes`, `.../saved_at_peak_bytes` (bytes at the peak that autograd had saved),
    `.../growth_bytes` (live bytes at the begin of the next step, less those at its own) and `.../allocations`. Reads a
    recording (its first process, unless a pid is given). Without one, reads the current recording of this process; the
    result is empty if the process is not recorded."""
    with process_of(recording, pid) as process:
        return {} if process is None else of_steps(process)


def run_scalars(recording: Recording | None = None, pid: int | None = None) -> dict[str, float]:
    """The figures of the whole run: `memory/run/DEVICE/peak_bytes`, `.../saved_at_peak_bytes`, `.../avoidable_bytes` (by
    which the peak falls without all findings of `tapelens advise`), `.../reserved_peak_bytes` (of GPUs) and
    `.../growth_bytes_per_step` (the median of the steps after the first). Arguments and empty results as in
    scalars()."""
    with process_of(recording, pid) as process:
        return {} if process is None else of_run(process, of_steps(process))


def log_scalars(log: Callable[[dict[str, float], int], Any], recording: Recording | None = None) -> int:
    """Calls log(values, step) for each step; returns how many. At the end of a training that is recorded:

        log_scalars(lambda values, step: [writer.add_scalar(name, value, step) for name, value in values.items()])
    """
    by_step = scalars(recording)
    for step, values in sorted(by_step.items()):
        log(values, step)
    return len(by_step)
