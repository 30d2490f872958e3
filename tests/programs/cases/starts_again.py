"""Calls tapelens.flight_recorder() first: `starts_again.py CASE OUTPUT [ARGUMENTS]`. Then it is another case."""

import pathlib
import runpy
import sys

import tapelens

case, output = sys.argv[1:3]
print("recorded", tapelens.flight_recorder(last=2, on=["oom", "SIGUSR2"], output=output or None))
sys.argv[1:] = sys.argv[3:]
sys.path.insert(0, str(pathlib.Path(__file__).parent))
runpy.run_path(str(pathlib.Path(__file__).with_name(case)), run_name="__main__")
