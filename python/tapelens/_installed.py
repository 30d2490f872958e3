"""Finds the command and the library of this package."""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import sysconfig

from tapelens._errors import Error

LIBRARY = "libtapelens.so"

# The package lies in lib/tapelens/python of an installation or of a build, in lib/python3.x/site-packages of an
# environment that a wheel is installed in, or in the folder that --target named: its prefix is one of these.
_ABOVE = pathlib.Path(__file__).absolute().parents[1:6]


def program() -> pathlib.Path:
    """The program `tapelens` of this package, or else that of PATH."""
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user"), *(f"{folder}/bin" for folder in _ABOVE)]
    if _ABOVE[0].parent.name == "tapelens":  # in an installation, its command precedes the environment's
        folders = folders[2:] + folders[:2]
    for folder in folders:
        if os.access(found := os.path.join(folder, "tapelens"), os.X_OK):
            return pathlib.Path(found)
    if (in_path := shutil.which("tapelens")) is not None:
        return pathlib.Path(in_path)
    raise Error("the command tapelens is not installed beside this package, nor in PATH: pip install --force-reinstall tapelens")


def library() -> pathlib.Path:
    """The library that reads recordings: of this package, or else beside the command of PATH."""
    prefixes = [*_ABOVE, pathlib.Path(sys.prefix)]
    if (in_path := shutil.which("tapelens")) is not None:
        prefixes.append(pathlib.Path(in_path).resolve().parents[1])
    places = [_ABOVE[0].parent / LIBRARY, *(prefix / "lib/tapelens" / LIBRARY for prefix in prefixes)]
    for place in places:
        if place.is_file():
            return place
    raise Error(f"{LIBRARY} is not installed beside this package: looked for {', '.join(map(str, places))}")
