"""The figures of a run and the page of its report, for Weights & Biases, MLflow and TensorBoard."""

from __future__ import annotations

import pathlib
import sys
import time
from typing import Any

from tapelens import _files
from tapelens._errors import UsageError
from tapelens._recording import Process, Recording
from tapelens._scalars import of_run, of_steps, process_of

_MOST_METRICS = 1000  # in one request: the limit of MLflow's server


def log_to_wandb(run: Any, recording: Recording | None = None, pid: int | None = None) -> int:
    """Logs the figures of each step to a run of Weights & Biases, those of the run to its summary, and the page of the
    report as `tapelens/report`. Returns the number of steps. At the end of a training that is recorded:

        log_to_wandb(wandb.run)

    The run's own step is past these steps by then, and values for earlier steps are dropped. So they have a separate
    axis, `memory/step`."""
    with process_of(recording, pid) as process:
        if process is None:
            return 0
        import wandb

        run.define_metric("memory/step", hidden=True)
        run.define_metric("memory/*", step_metric="memory/step")
        by_step = of_steps(process)
        for step, values in sorted(by_step.items()):
            run.log({**values, "memory/step": step})
        run.log({"tapelens/report": wandb.Html(_page(process), inject=False)})
        run.summary.update(of_run(process, by_step))
    return len(by_step)


def log_to_mlflow(recording: Recording | None = None, pid: int | None = None, run_id: str | None = None) -> int:
    """Logs the figures of each step and of the run as metrics of the active run of MLflow, or of `run_id`, and the page of
    the report as its artifact `tapelens/report.html`. Returns the number of steps. At the end of a training that is
    recorded, within `mlflow.start_run()`:

        log_to_mlflow()"""
    with process_of(recording, pid) as process:
        if process is None:
            return 0
        import mlflow
        from mlflow.entities import Metric

        if run_id is None:
            active = mlflow.active_run()
            if active is None:
                raise UsageError("no run of MLflow is active: call log_to_mlflow() within mlflow.start_run(), or pass run_id=")
            run_id = active.info.run_id
        by_step, now = of_steps(process), time.time_ns() // 1_000_000
        metrics = [Metric(name, value, now, step) for step, values in sorted(by_step.items()) for name, value in values.items()]
        metrics += [Metric(name, value, now, 0) for name, value in of_run(process, by_step).items()]
        client = mlflow.MlflowClient()
        for begin in range(0, len(metrics), _MOST_METRICS):
            client.log_batch(run_id, metrics[begin : begin + _MOST_METRICS])
        client.log_text(run_id, _page(process), "tapelens/report.html")
    return len(by_step)


def log_to_tensorboard(writer: Any, recording: Recording | None = None, pid: int | None = None) -> int:
    """Adds the figures of each step and of the run to a SummaryWriter, the report as the text `tapelens/report`, and its
    page as `tapelens.html` beside the writer's file. Returns the number of steps. At the end of a training that is
    recorded:

        log_to_tensorboard(writer)"""
    with process_of(recording, pid) as process:
        if process is None:
            return 0
        by_step = of_steps(process)
        for step, values in sorted(by_step.items()):
            for name, value in values.items():
                writer.add_scalar(name, value, step)
        for name, value in of_run(process, by_step).items():
            writer.add_scalar(name, value, 0)
        writer.add_text("tapelens/report", process.recording.report("markdown", pid=process.pid), 0)
        folder = str(getattr(writer, "log_dir", None) or writer.logdir)  # PyTorch's name, and that of tensorboardX
        if "://" in folder:
            print(f"tapelens: {folder} is not a local folder: log_to_tensorboard() writes no page", file=sys.stderr)
        else:
            mode = _files.mode_of_made(process.recording.path)
            with _files.whole(pathlib.Path(folder) / "tapelens.html", "page", _is_page, mode) as part:
                part.write_text(_page(process), encoding="utf-8")
    return len(by_step)


def _page(process: Process) -> str:
    return process.recording.report("html", pid=process.pid)


def _is_page(file: pathlib.Path) -> bool:
    with file.open("rb") as opened:
        head = opened.read(4096)
    return head.startswith(b"<!doctype html>\n") and b"\n<title>Tapelens</title>\n" in head
