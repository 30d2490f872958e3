"""Regions that begin in one function and end in another, for callbacks of trainers."""

from __future__ import annotations

from tapelens._recorded import region


class Regions:
    def __init__(self) -> None:
        self._open: list[region] = []

    def begin(self, name: str) -> None:
        self._open.append(region(name).__enter__())

    def end(self, name: str) -> None:
        """Ends the innermost region of that name, and all open regions inside it. Does nothing if none is open."""
        if any(one.name == name for one in self._open):
            while self._end_innermost() != name:
                pass

    def end_all(self) -> None:
        while self._open:
            self._end_innermost()

    def _end_innermost(self) -> str:
        innermost = self._open.pop()
        innermost.__exit__(None, None, None)
        return innermost.name
