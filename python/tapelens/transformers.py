"""For transformers: `Trainer(..., callbacks=[tapelens.transformers.TapelensCallback()])`. docs/python.md explains it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from tapelens._regions import Regions
from tapelens._scalars import log_scalars


class TapelensCallback(TrainerCallback):
    """Epochs and the evaluations of the training are regions of the recording; at its end the figures of each step go to
    `log(values, step)`, by default into `trainer.state.log_history`. In a run that is not recorded it does nothing."""

    def __init__(self, log: Callable[[dict[str, float], int], Any] | None = None) -> None:
        self._log = log
        self._regions = Regions()
        self._epoch = ""

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._epoch = f"epoch {int(state.epoch or 0)}"
        self._regions.begin(self._epoch)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if control.should_evaluate:  # evaluation comes next, and transformers has no callback for its begin
            self._regions.begin("evaluation")

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._regions.end(self._epoch)
        if control.should_evaluate:
            self._regions.begin("evaluation")

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._regions.end("evaluation")

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._regions.end_all()
        if state.is_world_process_zero:
            log_scalars(self._log or (lambda values, step: state.log_history.append({**values, "step": step + 1})))
