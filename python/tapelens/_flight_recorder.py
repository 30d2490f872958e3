"""The flight recorder of a program that was not started by `tapelens record`: the program starts again under it."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable
from typing import Any

from tapelens import _installed, _recorded
from tapelens._errors import Error

# Set for the second start, to prevent a third one.
_STARTED = "TAPELENS_STARTED_AGAIN"
_EVENTS = ("oom", "SIGUSR1", "SIGUSR2")
_RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")


def flight_recorder(last: int = 3, on: Iterable[str] | str = ("oom", "SIGUSR2"), output: str | None = None) -> bool:
    """Keeps the last steps of this program, and makes a recording of them when a request for memory fails ("oom"), at a
    signal ("SIGUSR1", "SIGUSR2"), or for `tapelens dump PID`. Call it first: it starts the program again, from its
    first line, as a child of `tapelens record --on-demand`, which takes the place and the pid of this process.
    `output`: the recording, by default run.tapelens, or run-%h-%r.tapelens in a job with ranks.

    Returns whether the program is recorded. If it cannot start again, one line says why, and the program runs on."""
    is_second = os.environ.pop(_STARTED, None) is not None
    if _recorded.is_preloaded():
        return "TAPELENS_SPOOL" in os.environ
    if is_second:  # `tapelens record` has said why it cannot record
        return False
    events = on.split(",") if isinstance(on, str) else list(on)
    if why := _wrong(last, events, output) or _why_not():
        print(f"tapelens: flight_recorder(): {why}; the program runs without it", file=sys.stderr)
        return False
    if output is None:
        output = "run-%h-%r.tapelens" if any(name in os.environ for name in _RANKS) else "run.tapelens"
    try:
        program = _installed.program()
    except Error as error:
        print(f"tapelens: flight_recorder(): {error}; the program runs without it", file=sys.stderr)
        return False
    words = [str(program), "record", "--on-demand", "--last", str(last), "--on", ",".join(events) or "none", "-o", str(output),
             "--", sys.executable, *sys.orig_argv[1:]]
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # None, closed, or a pipe without a reader
            stream.flush()
    before = _default_signals()
    try:
        os.execve(program, words, {**os.environ, _STARTED: "1"})
    except OSError as error:
        for number, handler in before.items():
            signal.signal(number, handler)
        print(f"tapelens: flight_recorder(): {program}: {error.strerror}; the program runs without it", file=sys.stderr)
    return False


def _wrong(last: int, events: list[str], output: str | None) -> str:
    """The reason why `tapelens record` would refuse these arguments and not start the program; empty if it takes them."""
    for event in events:
        if event not in _EVENTS:
            return f"{event!r} is not an event: use {', '.join(_EVENTS)}"
    if not isinstance(last, int) or last < 1:
        return f"last={last!r} is not a number of steps"
    if output is not None and (str(output) in ("", "-") or str(output).startswith("/dev/")):
        return f"output={str(output)!r} is not a file"
    return ""


def _why_not() -> str:
    """Why this process cannot start again; empty if it can."""
    if multiprocessing.parent_process() is not None:
        return "this process was started by multiprocessing: call it in the main process"
    if sys.argv[:1] in ([""], ["-"]) or hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        return "the program is not a file that can start again: put `tapelens record --on-demand --` in front of it"
    if threading.active_count() > 1 or threading.current_thread() is not threading.main_thread():
        return "other threads run: call it at the begin of the program"
    torch: Any = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "cuda") and torch.cuda.is_initialized():
        return "CUDA is in use: call it at the begin of the program"
    if torch is not None and hasattr(torch, "distributed") and torch.distributed.is_available() and torch.distributed.is_initialized():
        return "torch.distributed is initialized: call it at the begin of the program"
    return ""


def _default_signals() -> dict[int, Any]:
    """Restores the signals that Python ignores, which exec would leave ignored. Returns their handlers."""
    before = {}
    for name in ("SIGPIPE", "SIGXFZ", "SIGXFSZ"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            before[number] = signal.signal(number, signal.SIG_DFL)
    return before
