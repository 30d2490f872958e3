"""Processes in odd states (cases/process_states.py): recorded and rewritten runs have the exit code, output and files
of a bare run."""

import re

import pytest

import harness
from ways import WATCHED, command

PROGRAM = harness.CASES / "process_states.py"
EVERY_SIZE = ["--rewrite-min-bytes", "1", "--recompute-budget", "100%"]
# Options and environments with which an interpreter starts.
STARTED = {
    "as usual": ([], {}),
    "optimized": (["-O"], {}),
    "optimized, without docstrings": (["-OO"], {}),
    "in development mode": (["-X", "dev"], {}),
    "isolated": (["-I"], {}),
    "without a user's site": (["-s", "-E"], {}),
    "unbuffered": (["-u"], {}),
    "with another encoding": (["-X", "utf8=0"], {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1"}),
    "with Python's debug allocator": ([], {"PYTHONMALLOC": "debug"}),
    "with malloc": ([], {"PYTHONMALLOC": "malloc"}),
    "with perturbed memory": ([], {"MALLOC_PERTURB_": "165"}),
    "with tracemalloc": (["-X", "tracemalloc=5"], {}),
    "without bytecode": (["-B", "-X", "frozen_modules=off"], {}),
}


def names():
    text = PROGRAM.read_text(encoding="utf-8")
    return [part.split("(")[0] for part in text.split("\n@case\ndef ")[1:]]


def plain(text, folder):
    """Removes addresses, the folder and process ids."""
    return re.sub(r"0x[0-9a-f]+|\b\d{4,}\b(?=: )", "0x", text.replace(str(folder), "FOLDER"))


def outcome(way, name, tmp_path, options=(), env=None):
    folder = tmp_path / way
    folder.mkdir()
    program = [harness.PYTHON, *options, PROGRAM, name]
    run = harness.bare(command(way, program, tmp_path, EVERY_SIZE), env=env, cwd=folder, input="", timeout=180)
    files = {str(path.relative_to(folder)): (oct(path.stat().st_mode), plain(path.read_text(encoding="utf-8", errors="replace"), folder))
             for path in sorted(folder.rglob("*")) if path.is_file()}
    # A shell returns 128 plus the number of the signal, as `tapelens` does.
    code = 128 - run.code if run.code < 0 else run.code
    return {"exit code": code, "output": plain(run.stdout, folder), "errors": plain(run.stderr, folder), "files": files}


def the_same_in_every_way(*arguments, **options):
    alone = outcome("bare", *arguments, **options)
    for way in WATCHED:
        assert outcome(way, *arguments, **options) == alone, way


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [name for name in names() if name != "prints_how_it_was_started"])
def test_it_says_does_and_ends_as_alone(name, tmp_path):
    the_same_in_every_way(name, tmp_path)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", STARTED)
def test_an_interpreter_may_be_started_in_any_way(how, tmp_path):
    options, env = STARTED[how]
    the_same_in_every_way("prints_how_it_was_started", tmp_path, options=options, env=env)


def test_every_state_is_there():
    assert len(names()) + len(STARTED) > 22
