"""Gradients computed in unusual ways (cases/hostile_*.py): recorded and rewritten runs have the same bits or
the same error as a bare run. One process of each kind runs all programs. If the process dies, another one continues
with the next program."""

import functools
import json

import pytest

import harness
from ways import WATCHED, command

PROGRAMS = {harness.CASES / "hostile_gradients.py": 67 + 22, harness.CASES / "hostile_autocast.py": 34}  # and how many cases at least
EVERY_SIZE = ["--rewrite-min-bytes", "1", "--recompute-budget", "100%"]


def names(file):
    done = harness.bare([harness.PYTHON, "-W", "ignore", file, "--list"], check=True)
    return done.stdout.split()


@functools.cache
def answers(way, file, folder):
    """name -> answers of three rounds, or the end of a process that died in this program."""
    left, found = names(file), {}
    while left:
        program = [harness.PYTHON, "-W", "ignore", file, *left]
        done = harness.bare(command(way, program, folder, EVERY_SIZE), timeout=900)
        for line in done.stdout.splitlines():
            name, answer = json.loads(line)
            found[name] = answer
            left.remove(name)
        if done.code == 0:
            assert not left, left
        else:
            found[left.pop(0)] = f"exit code {done.code}: {done.stderr[-300:]}"
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("hostile")


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.stem)
def test_the_programs_run_alone(file, folder):
    alone = answers("bare", file, folder)
    assert len(alone) >= PROGRAMS[file]
    assert not [answer for answer in alone.values() if isinstance(answer, str)]


@pytest.mark.parametrize("file", PROGRAMS, ids=lambda file: file.stem)
@pytest.mark.parametrize("way", WATCHED)
def test_gradients_and_errors_are_those_of_the_bare_program(way, file, folder):
    alone, watched = answers("bare", file, folder), answers(way, file, folder)
    differing = {name: (alone[name], watched[name]) for name in alone if alone[name] != watched[name]}
    assert not differing, f"{len(differing)} of {len(alone)}: " + "\n".join(f"{name}: {a} became {b}" for name, (a, b) in differing.items())
