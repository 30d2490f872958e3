"""Sizes as text."""

import re

# The units of the command line: M and MiB are powers of 1024, MB is a power of 1000.
_UNITS = {"": 1, "b": 1, **{f"{letter}{rest}": (1000 if rest == "b" else 1024)**power for power, letter in enumerate("kmgtp", 1)
                            for rest in ("", "b", "i", "ib")}}


def parsed(text: object) -> int:
    """Bytes of "2 GiB", "500MB", "1.5g", 4096; ValueError for other text."""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", str(text).lower())
    if found is None or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is not a size, like '2 GiB'")
    return int(float(found[1]) * _UNITS[found[2]])


def text(size: int) -> str:
    """The text of a size in reports: "812.3 MiB", "96 B"."""
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            break
        amount /= 1024
    else:
        unit = "TiB"
    return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
