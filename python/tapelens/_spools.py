"""The recording of a running process, read by the process itself: its spool, sealed in its current state."""

from __future__ import annotations

import os
import pathlib
import subprocess
import time

from tapelens import _installed
from tapelens._errors import Error
from tapelens._recording import Process, Recording, open


def now_ns() -> int:
    """The recording's time."""
    return time.monotonic_ns() - int(os.environ["TAPELENS_EPOCH_NS"])


def unrecorded_environment() -> dict[str, str]:
    """The environment for a command that must not be recorded with this process."""
    return {key: value for key, value in os.environ.items() if key != "LD_PRELOAD" and not key.startswith("TAPELENS_")}


def seal(file: pathlib.Path, force: bool = False) -> Recording | None:
    """Seals the recording of this process and its children up to now to a file; None if it is empty. Requires
    is_recorded()."""
    done = subprocess.run([_installed.program(), "seal", *["--force"] * force, os.environ["TAPELENS_SPOOL"], "-o", file],
                          capture_output=True, text=True, env=unrecorded_environment(), check=False)
    if done.returncode == 0:
        return open(file)
    if not any(pathlib.Path(os.environ["TAPELENS_SPOOL"]).glob("*.spool")) or "nothing to seal" in done.stderr:
        return None
    raise Error(done.stderr.strip().removeprefix("tapelens: "))


def has_spool() -> bool:
    """Whether this process writes a spool: it begins with its first operator of LibTorch."""
    return any(pathlib.Path(os.environ["TAPELENS_SPOOL"]).glob(f"{os.getpid()}-*.spool"))


def family(recording: Recording, pid: int) -> list[Process]:
    """A process and its descendants."""
    parents = {process.pid: process.parent_pid for process in recording.processes}

    def is_below(at: int) -> bool:
        seen: set[int] = set()
        while at != pid and at in parents and at not in seen:
            seen.add(at)
            at = parents[at]
        return at == pid

    return [process for process in recording.processes if is_below(process.pid)]


def this_process(recording: Recording) -> Process | None:
    """The process with this pid in the recording."""
    own = [process for process in recording.processes if process.pid == os.getpid()]
    return own[-1] if own else None
