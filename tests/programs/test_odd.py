"""Programs that do unusual things to their own process: their output, their exit and every byte of their files are the
same as without Tapelens, and the recording opens and lists its losses. One bare run and one recorded run serve all
tests."""

import json
import os
import shutil
import subprocess

import pytest

import harness

ODD = harness.CASES / "odd.py"
NEEDS_ROOT = {"goes_into_a_chroot", "gives_up_root"}
# The losses that a program's recording must report. Forked children, which are never recorded, are not listed.
LOST = {
    "goes_into_a_chroot": {"unreachable"},
    "gives_up_root": {"unreachable"},
    "uses_up_its_descriptors": {"no_descriptor"},
    "has_a_limit_of_file_sizes": {"file_size_limit"},
    "aborts": {"truncated_spool"},
    "has_a_broken_pipe": {"truncated_spool"},
}
# Programs that train in other processes than the started one, and the number of these processes.
ELSEWHERE = {"trains_only_as_a_daemon": 1, "ends_in_signal_handlers_while_it_trains": 8}


def names():
    text = ODD.read_text(encoding="utf-8")
    every = [part.split("(")[0] for part in text.split("@case\ndef ")[1:]]
    return [name for name in every if os.geteuid() == 0 or name not in NEEDS_ROOT]


def ends_of(run):
    return {end["name"]: end for end in map(json.loads, run.stdout.splitlines())}


def files_in(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    target = folder / "run.tapelens"
    alone = harness.bare([harness.PYTHON, ODD, folder / "alone", *names()], timeout=600, check=True)
    recorded = harness.record([harness.PYTHON, ODD, folder / "recorded", *names()], target, quiet=False, timeout=600)
    assert recorded.code == 0, recorded.stderr
    return folder, ends_of(alone), ends_of(recorded), recorded.stderr, harness.report(target)


@pytest.mark.parametrize("name", names())
def test_the_program_says_does_and_writes_what_it_does_alone(name, runs):
    folder, alone, recorded, _, _ = runs
    assert recorded[name]["status"] == alone[name]["status"]
    bare, watched = files_in(folder / "alone" / name), files_in(folder / "recorded" / name)
    assert watched.keys() == bare.keys()
    for file, content in bare.items():
        assert watched[file] == content, file


@pytest.mark.parametrize("name", [name for name in names() if name not in ELSEWHERE])
def test_its_recording_says_what_it_lacks_and_nothing_else(name, runs):
    _, _, recorded, _, report = runs
    pid = recorded[name]["pid"]
    assert pid in {process["pid"] for process in report["processes"]}
    lost = {loss["kind"] for loss in report["recording"]["lost"] if loss["process"] == pid}
    assert lost - {"forked_child"} == LOST.get(name, set())


def test_the_recording_has_a_process_for_each_and_one_line_says_what_it_lacks(runs):
    _, _, recorded, said, report = runs
    everyone = len(recorded) - len(ELSEWHERE) + sum(ELSEWHERE.values())
    assert len(report["processes"]) == everyone
    line, = said.splitlines()
    assert line.startswith("tapelens: peak ") and "with every file descriptor in use" in line, said


def test_it_may_end_in_a_signal_handler_while_its_saves_are_rewritten(tmp_path):
    ending = [name for name in names() if name.startswith("ends_")]
    alone = harness.bare([harness.PYTHON, ODD, tmp_path / "alone", *ending], timeout=120, check=True)
    applied = harness.bare([harness.BINARY, "run", "--apply", "bitwise", "--rewrite-min-bytes", "1", "--", harness.PYTHON, ODD,
                            tmp_path / "applied", *ending], timeout=120)
    assert applied.code == 0, applied.stderr
    assert [end["status"] for end in ends_of(applied).values()] == [end["status"] for end in ends_of(alone).values()]
    assert "rewrote" in applied.stderr, "the counts of processes that ended in a handler are kept"


def library(name):
    for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"):
        if os.path.exists(f"{folder}/{name}"):
            return f"{folder}/{name}"
    return pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("name", ["libjemalloc.so.2", "libmimalloc.so.2", "libasan.so.8"])
def test_another_allocator_is_preloaded(name, target):
    env = {"LD_PRELOAD": library(name)}
    alone = harness.bare([harness.TRAINER], env=env, check=True)
    recorded = harness.record([harness.TRAINER], target, env=env)
    assert recorded.said() == alone.said()
    assert harness.lost(harness.report(target)) == []


def test_a_debugger_runs_the_program(target):
    if shutil.which("gdb") is None:
        pytest.skip("gdb is not installed")
    command = ["gdb", "-nx", "-batch", "-ex", "set auto-solib-add off", "-ex", "run", "--args", harness.TRAINER]
    alone = harness.bare([harness.TRAINER], check=True)
    try:
        recorded = harness.record(command, target, timeout=120)
    except subprocess.TimeoutExpired:
        pytest.skip("gdb is too slow here")
    assert alone.stdout.splitlines()[-1] in recorded.stdout
    assert harness.lost(harness.report(target)) == []
