"""The headers of PyTorch that a probe relies on: those that its sources include, directly or indirectly, under any
condition. Excluded are headers that may differ without an effect on a probe: versions, the libraries of a build, and
the operators, whose declarations are symbol names, which the loader checks.

usage: headers.py TORCH OUTPUT SOURCE...
"""
import pathlib
import re
import sys

INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"]+)[>"]', re.M)
LEFT_OUT = re.compile(r"ATen/ops/|ATen/Config\.h$|(.*/)?version\.h$")


def included(file: pathlib.Path) -> list[str]:
    return [name.decode() for name in INCLUDE.findall(file.read_bytes())]


def main(torch: str, output: str, *sources: str) -> None:
    include = pathlib.Path(torch, "include")
    places = [include, include / "torch/csrc/api/include"]
    found: set[pathlib.Path] = set()
    waiting = [(pathlib.Path(source).parent, name) for source in sources for name in included(pathlib.Path(source))]
    while waiting:
        folder, name = waiting.pop()
        beside = [folder] if include in folder.parents else []
        for place in [*beside, *places]:
            file = place / name
            if not file.is_file():
                continue
            if file not in found and not LEFT_OUT.match(file.relative_to(include).as_posix()):
                found.add(file)
                waiting += [(file.parent, more) for more in included(file)]
            break
    names = sorted(file.relative_to(include).as_posix() for file in found)
    pathlib.Path(output).write_text("".join(name + "\n" for name in names))


main(*sys.argv[1:])
