"""For Lightning: `Trainer(callbacks=[tapelens.lightning.TapelensCallback()])`. docs/python.md explains it."""

from __future__ import annotations

from typing import Any

from tapelens._regions import Regions
from tapelens._scalars import log_scalars

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:
    from pytorch_lightning.callbacks import Callback


class TapelensCallback(Callback):
    """Epochs, validation, test and prediction are regions of the recording; at the end of the training the figures of
    each step go to the trainer's loggers. In a run that is not recorded it does nothing."""

    def __init__(self) -> None:
        self._regions = Regions()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self._epoch = f"epoch {trainer.current_epoch}"
        self._regions.begin(self._epoch)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._regions.end(self._epoch)

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        self._validation = "sanity check" if trainer.sanity_checking else "validation"
        self._regions.begin(self._validation)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        self._regions.end(self._validation)

    def on_test_start(self, trainer: Any, pl_module: Any) -> None:
        self._regions.begin("test")

    def on_test_end(self, trainer: Any, pl_module: Any) -> None:
        self._regions.end("test")

    def on_predict_start(self, trainer: Any, pl_module: Any) -> None:
        self._regions.begin("prediction")

    def on_predict_end(self, trainer: Any, pl_module: Any) -> None:
        self._regions.end("prediction")

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._regions.end_all()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.is_global_zero or not trainer.loggers:
            return

        def log(values: dict[str, float], step: int) -> None:
            for logger in trainer.loggers:
                logger.log_metrics(values, step)

        log_scalars(log)
