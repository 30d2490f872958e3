"""Overhead of tapelens.region and tapelens.step in a program without recording, in microseconds a call.

    python bench/marks.py
"""

import pathlib
import sys
import timeit

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

import tapelens

CALLS = 200_000


def region():
    with tapelens.region("part"):
        pass


if tapelens.is_recorded():
    sys.exit("bench/marks.py is about programs that are not recorded: run it without tapelens record")
for name, call in (("region", region), ("step", tapelens.step)):
    least = min(timeit.repeat(call, number=CALLS, repeat=5))
    print(f"{name:8} {least / CALLS * 1e6:.2f} us")
