"""Writes files that a user names: never replaces a file that Tapelens did not write, and keeps the old file on a full disk."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import tempfile
from collections.abc import Callable, Iterator

from tapelens._errors import UsageError


def mode_of_made(recording: str | os.PathLike[str]) -> int:
    """The mode of a file made from a recording: users who may read the recording may read the file."""
    try:
        return os.stat(recording).st_mode & 0o666 | 0o600
    except OSError:
        return 0o600


def check(file: pathlib.Path, what: str, is_ours: Callable[[pathlib.Path], bool], force: bool | None = None) -> None:
    """Raises UsageError if `file` is not one that may be replaced. Makes and changes nothing. `force`: of --force;
    None: the caller has no such option."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return
    if not stat.S_ISREG(facts.st_mode):
        raise UsageError(f"{file}: is not a regular file: choose another place")
    if not force and facts.st_size > 0 and not (facts.st_mode & 0o222 and is_ours(file)):
        raise UsageError(f"{file}: exists, and is not a Tapelens {what} that can be replaced: choose another place"
                         + ("" if force is None else ", or replace it with --force"))


@contextlib.contextmanager
def whole(file: pathlib.Path, what: str, is_ours: Callable[[pathlib.Path], bool], mode: int,
          force: bool | None = None) -> Iterator[pathlib.Path]:
    """Yields a temporary file that replaces `file` when it is complete. A new file has `mode`. Follows links."""
    check(file, what, is_ours, force)
    target = file.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:200]}.")
    os.close(handle)
    part = pathlib.Path(name)
    try:
        yield part
        check(file, what, is_ours, force)
        with contextlib.suppress(FileNotFoundError):
            then = target.stat()
            mode = stat.S_IMODE(then.st_mode) & 0o777
            with contextlib.suppress(PermissionError):
                os.chown(part, then.st_uid, then.st_gid)
        part.chmod(mode)
        with part.open("rb") as made:
            os.fsync(made.fileno())
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
