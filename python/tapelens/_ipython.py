"""%load_ext tapelens, then %%tapelens as the first line of a cell, shows a page about the cell's memory below it."""

from __future__ import annotations

import argparse
import pathlib
import shlex
import subprocess
import sys
import tempfile
from typing import Any

from tapelens import _files, _installed, _notebook, _sizes, _spools
from tapelens._errors import Error
from tapelens._recorded import is_recorded
from tapelens._recording import Recording, open


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="%%tapelens", add_help=False)
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the recording")
    parser.add_argument("--force", action="store_true", help="replace FILE even if it is not a recording")
    parser.add_argument("--height", type=int, default=_notebook.HEIGHT, help="height of the page, in pixels")
    parser.add_argument("--gpu", metavar="GPU", help="as of tapelens record")
    parser.add_argument("--simulate-gpu", dest="gpu", help=argparse.SUPPRESS)  # its former name
    return parser


def _show(recording: Recording, height: int, **options: Any) -> None:
    from IPython.display import HTML, display

    display(HTML(_notebook.framed(recording.report("html", **options), height)))


def _in_kernel(shell: Any, cell: str, file: pathlib.Path, height: int, force: bool) -> None:
    """Runs the cell in a recorded kernel. The page shows the peak of that time."""
    begin = _spools.now_ns()
    shell.run_cell(cell)
    end = _spools.now_ns()
    recording = _spools.seal(file, force)
    process = _spools.this_process(recording) if recording is not None else None
    peaks = process.peaks_between(begin, end, top=0) if process is not None else []
    if recording is None or process is None or not peaks:
        print("tapelens: no operator of LibTorch has run in this kernel", file=sys.stderr)
        return
    largest = max(peaks, key=lambda peak: peak.peak_bytes - peak.begin_live_bytes)
    print(f"tapelens: the cell took {_sizes.text(largest.peak_bytes - largest.begin_live_bytes)} on {largest.device}, "
          f"{_sizes.text(largest.begin_live_bytes)} were alive when it began")
    _show(recording, height, at=f"{largest.peak_time_ns}ns", pid=process.pid, device=largest.device)


def _in_process(cell: str, file: pathlib.Path, height: int, options: list[str]) -> None:
    """Runs the cell in a separate process, because a running kernel cannot be recorded."""
    with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
        script = pathlib.Path(folder) / "cell.py"
        script.write_text(cell, encoding="utf-8")
        command = [str(_installed.program()), "record", "--quiet", *options, "-o", str(file), "--", sys.executable, str(script)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="")
        print("tapelens: the cell ran in a process of its own, without the notebook's variables; "
              "`tapelens record -- jupyter lab` records cells with them", file=sys.stderr)
        if not file.exists():
            print("tapelens: nothing was recorded: no operator of LibTorch ran", file=sys.stderr)
            return
        _show(open(file), height)


def _is_recording(file: pathlib.Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(8) == b"TAPELENS"


def load_ipython_extension(shell: Any) -> None:
    def tapelens(line: str, cell: str) -> None:
        """Runs the cell, recorded, and shows its memory."""
        try:
            given = _parser().parse_args(shlex.split(line))
        except SystemExit:  # argparse has printed the error
            return
        with tempfile.TemporaryDirectory(prefix="tapelens-") as folder:
            file = pathlib.Path(given.output or f"{folder}/cell.tapelens").absolute()
            try:
                _files.check(file, "recording", _is_recording, given.force)
                if is_recorded():
                    _in_kernel(shell, cell, file, given.height, given.force)
                else:
                    options = ["--gpu", given.gpu] if given.gpu else []
                    _in_process(cell, file, given.height, options + ["--force"] * given.force)
            except Error as wrong:
                print(f"tapelens: {wrong}", file=sys.stderr)

    shell.register_magic_function(tapelens, "cell", "tapelens")
