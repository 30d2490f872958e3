"""Marks in a program that is recorded: regions, steps, where the recording begins and ends. In a program that is not
recorded they do nothing. torch is not imported here, and nothing of Tapelens' is loaded."""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ASK, _STEP, _START, _STOP = range(4)  # enum tapelens_mark_kind of profiler/inject/mark.h

#: tapelens_mark() of the preload library; None: this process was not started by `tapelens record`.
_mark: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "tapelens_mark", None)


def is_preloaded() -> bool:
    """Whether this process was started by `tapelens record` or `tapelens run`."""
    return _mark is not None


def is_recorded() -> bool:
    """Whether this process is recorded now."""
    return _mark is not None and bool(_mark(_ASK))


def step() -> None:
    """A training step ends here. For programs whose steps Tapelens does not see by itself: it takes those of the
    first optimizer of torch.optim that steps. Once this has been called, only its calls end steps."""
    if _mark is not None:
        _mark(_STEP)


def start() -> None:
    """Begins the part of interest: the report ignores earlier peaks. With `tapelens record --marked`, only allocations
    and frees are recorded before."""
    if _mark is not None:
        _mark(_START)


def stop() -> None:
    """Ends the recording of this process for the rest of the run. The program continues."""
    if _mark is not None:
        _mark(_STOP)


class region:
    """A named part of the program, for a `with` statement or as a decorator of a function. The report has the live
    bytes at its begin, and its peak. It is a `torch.profiler.record_function`, so PyTorch's profiler sees it too. A
    region that begins before the program has imported torch is not recorded."""

    __slots__ = ("_open", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._open: list[Any] = []

    def __enter__(self) -> region:
        if _mark is not None:
            profiler = sys.modules.get("torch.autograd.profiler")
            entered = None if profiler is None else profiler.record_function(self.name)
            if entered is not None:
                entered.__enter__()
            self._open.append(entered)
        return self

    def __exit__(self, *raised: Any) -> None:
        if self._open:
            entered = self._open.pop()
            if entered is not None:
                entered.__exit__(*raised)

    def __call__(self, function: _Function) -> _Function:
        if _mark is None:
            return function

        @functools.wraps(function)
        def within(*arguments: Any, **options: Any) -> Any:
            with region(self.name):
                return function(*arguments, **options)

        return within  # type: ignore[return-value]
