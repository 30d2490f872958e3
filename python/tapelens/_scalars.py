"""Figures of each step, for loggers."""

from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from tapelens import _spools
from tapelens._recorded import is_recorded
from tapelens._recording import Process, Recording


def _of_process(process: Process) -> Iterator[tuple[int, dict[str, float]]]:
    for step in process.steps.rows():
        peaks = process.peaks_between(step["begin_ns"], step["end_ns"], by="category", top=100)
        (peak,) = (peak for peak in peaks if peak.device == step["device"])
        saved = sum(group.bytes for group in peak.groups if group.key == "saved")
        name = f"memory/{step['device']}"
        yield step["step"], {f"{name}/peak_bytes": step["peak_bytes"], f"{name}/saved_at_peak_bytes": saved,
                             f"{name}/allocations": step["allocations"]}


def scalars(recording: Recording | None = None, pid: int | None = None) -> dict[int, dict[str, float]]:
    """By step: `memory/DEVICE/peak_bytes`, `.../saved_at_peak_bytes` (bytes at the peak that autograd had saved) and
    `.../allocations`. Reads a recording (its first process, unless a pid is given). Without one, reads the current
    recording of this process; the result is empty if the process is not recorded."""
    if recording is None:
        if not is_recorded():
            return {}
        with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
            sealed = _spools.seal(pathlib.Path(folder) / "now.tapelens")
            process = _spools.this_process(sealed) if sealed is not None else None
            return _joined(process) if process is not None else {}
    chosen = [process for process in recording.processes if pid in (None, process.pid)]
    return _joined(chosen[0]) if chosen else {}


def _joined(process: Process) -> dict[int, dict[str, float]]:
    by_step: dict[int, dict[str, float]] = {}
    for step, values in _of_process(process):
        by_step.setdefault(step, {}).update(values)
    return by_step


def log_scalars(log: Callable[[dict[str, float], int], Any], recording: Recording | None = None) -> int:
    """Calls log(values, step) for each step; returns how many. At the end of a training that is recorded:

        log_scalars(lambda values, step: [writer.add_scalar(name, value, step) for name, value in values.items()])
    """
    by_step = scalars(recording)
    for step, values in sorted(by_step.items()):
        log(values, step)
    return len(by_step)


def log_to_wandb(run: Any, recording: Recording | None = None) -> int:
    """Logs the figures of each step to a run of Weights & Biases; returns how many. At the end of a training that is
    recorded:

        log_to_wandb(wandb.run)

    The run's own step is past these steps by then, and values for earlier steps are dropped. So they have a separate
    axis, `memory/step`."""
    run.define_metric("memory/step", hidden=True)
    run.define_metric("memory/*", step_metric="memory/step")
    return log_scalars(lambda values, step: run.log({**values, "memory/step": step}), recording)
