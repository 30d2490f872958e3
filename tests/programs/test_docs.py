"""The command line understands every command in the pages, the window and the messages."""

import functools
import re

import pytest

import console
import harness

PAGES = console.pages()
SOURCES = [path for folder in ("cli", "gui", "analyzer", "plugins") for path in sorted((harness.ROOT / folder).rglob("*.cpp"))]
# In code blocks, between backticks, in strings.
COMMAND = re.compile(r"\btapelens((?: +(?:[-\w./\\|<>\[\]{}=,:%*'$~]+|--))+)")
EXPECTED = 150  # approximate number of commands in the pages


@functools.cache
def options(command):
    """The options in `tapelens COMMAND --help`, or None for an unknown command."""
    done = harness.bare([harness.BINARY, command, "--help"])
    return set(re.findall(r"(?<![\w-])--?[a-z][-a-z]*", done.stdout)) if done.code == 0 else None


@functools.cache
def commands():
    names = {name for group in console.command_groups().values() for name in group}
    assert {"record", "report", "advise", "verify"} <= names
    return names


def said(path):
    """(line, command, its options) of all commands in a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for words in (match.group(1).split() for match in COMMAND.finditer(line)):
            words = [word.rstrip(".,:;)'`") for word in words]
            if words[0] not in commands():
                continue  # "tapelens says", "tapelens --help"
            end = next((at for at, word in enumerate(words) if word in ("--", "|")), len(words))
            own = words[1:end]
            yield number, words[0], [re.split(r"[=\[|]", word)[0] for word in own if re.match(r"--?[a-z]", word)]


@pytest.mark.parametrize("path", PAGES + SOURCES, ids=lambda path: str(path.relative_to(harness.ROOT)))
def test_each_option_is_one(path):
    for number, command, written in said(path):
        for option in written:
            assert option in options(command), f"{path}:{number}: tapelens {command} has no {option}"


def test_what_is_looked_for_is_found():
    assert sum(1 for path in PAGES + SOURCES for _ in said(path)) > EXPECTED
    assert any(command == "run" and "--apply" in written for path in PAGES for _, command, written in said(path))
