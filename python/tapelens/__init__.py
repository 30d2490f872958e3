"""Reads recordings of Tapelens, and marks parts of programs that are recorded.

    run = tapelens.open("run.tapelens")
    polars.DataFrame(run.peak)

docs/python.md lists the tables and their columns.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tapelens._errors import Error, UsageError
from tapelens._recorded import is_recorded, region, start, step, stop
from tapelens._recording import Held, Peak, Process, Recording, Table, Tables, open

if TYPE_CHECKING:
    from tapelens._flight_recorder import flight_recorder
    from tapelens._loggers import log_to_mlflow, log_to_tensorboard, log_to_wandb
    from tapelens._scalars import log_scalars, run_scalars, scalars
    from tapelens.parquet import to_parquet

__version__ = "0.1.0"
__all__ = ["Error", "Held", "Peak", "Process", "Recording", "Table", "Tables", "UsageError", "flight_recorder", "is_recorded",
           "log_scalars", "log_to_mlflow", "log_to_tensorboard", "log_to_wandb", "open", "region", "run_scalars", "scalars", "start", "step", "stop", "to_parquet"]

# Loaded on first use, with their imports.
_LATER = {
    "flight_recorder": "tapelens._flight_recorder", "log_scalars": "tapelens._scalars", "log_to_mlflow": "tapelens._loggers",
    "log_to_tensorboard": "tapelens._loggers", "log_to_wandb": "tapelens._loggers", "run_scalars": "tapelens._scalars",
    "scalars": "tapelens._scalars", "to_parquet": "tapelens.parquet", "load_ipython_extension": "tapelens._ipython"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
