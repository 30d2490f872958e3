"""Decorators for the programs of this folder: `tapelens advise` must report a given finding, or must not report any.

    python FILE FUNCTION    runs one; the file ends with main()
"""

import inspect
import sys

EXPECTED = "tapelens_expected"


def positive(*, bytes, fixed=None, exit_code=0, **properties):  # pylint: disable=redefined-builtin
    """Expects exactly one finding of the file's check, with these bytes. `properties`: other keys of the finding's
    JSON, such as occurrences=2, severity="warning". `fixed`: the name of the function with the same program, fixed by
    hand. The replay must predict its measured peak."""
    return mark({"kind": "positive", "properties": {"bytes": bytes, **properties}, "fixed": fixed,
                 "exit_code": exit_code})


def negative(function=None, *, exit_code=0):
    """Expects no finding of the file's check. `exit_code` is for programs that do not exit by themselves: 137 if
    killed."""
    decorate = mark({"kind": "negative", "properties": {}, "fixed": None, "exit_code": exit_code})
    return decorate if function is None else decorate(function)


def mark(expected):
    def decorate(function):
        setattr(function, EXPECTED, expected)
        return function
    return decorate


def expectations(module):
    """By name, in the order of the file."""
    return {name: getattr(value, EXPECTED) for name, value in vars(module).items()
            if inspect.isfunction(value) and hasattr(value, EXPECTED)}


def main():
    program = sys.modules["__main__"]
    names = sys.argv[1:]
    if len(names) != 1 or not inspect.isfunction(getattr(program, names[0], None)):
        sys.exit(f"usage: {sys.argv[0]} FUNCTION, one of {', '.join(expectations(program))}")
    getattr(program, names[0])()
