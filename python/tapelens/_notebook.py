"""Recordings and tables as HTML in the output of a notebook's cell."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Iterator
from typing import Any

HEIGHT = 720  # the height of a page, in pixels
ROWS = 20


def framed(page: str, height: int = HEIGHT) -> str:
    """The page in a frame, which isolates its scripts from the notebook."""
    return (f'<div><iframe sandbox="allow-scripts allow-downloads" srcdoc="{html.escape(page)}" '
            f'style="width: 100%; height: {height}px; border: 0"></iframe></div>')


def table(name: str, columns: list[str], rows: Iterator[dict[str, Any]], count: int) -> str:
    """The first rows of a table, below its name and its number of rows."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    shown = [line(row.values(), "td") for row in itertools.islice(rows, ROWS)]
    first = f"the first {len(shown)} of " if len(shown) < count else ""
    caption = f"{html.escape(name)}: {first}{count:,} {'row' if count == 1 else 'rows'}"
    return f"<table><caption>{caption}</caption><thead>{line(columns, 'th')}</thead><tbody>{''.join(shown)}</tbody></table>"
