"""Malicious memory snapshots: `tapelens import` refuses each with one line, or makes a recording that every command
reads. Its memory and its time are proportional to the size of the file."""

import resource
import subprocess
import sys

import pytest

import harness
import hostile_pickles

GIB = 1 << 30


def run(command, folder, memory=4 * GIB, seconds=60):
    """(Outcome, seconds of processor time)"""
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    begin = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=seconds,
                          env=harness.environment(), preexec_fn=limited)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return harness.Run(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")), end.ru_utime - begin.ru_utime + end.ru_stime - begin.ru_stime


def is_read(file, folder):
    for command in (["report", file], ["report", file, "--by", "source"], ["report", file, "--format", "html"], ["advise", file],
                    ["export", file, "--format", "perfetto", "-o", "-"], ["export", file, "--format", "snapshot", "-o", "-"],
                    ["export", file, "--format", "speedscope", "-o", "-"]):
        done, _ = run([harness.BINARY, *command], folder)
        assert done.code == 0, (command, done.stderr)
        assert "cannot be used and is left out" not in done.stdout, (command, done.stdout)


def imported(name, bytes_, folder):
    """Whether the import succeeded, and its duration."""
    (folder / "s.pickle").write_bytes(bytes_)
    done, seconds = run([harness.BINARY, "import", "s.pickle", "-o", "s.tapelens"], folder)
    assert done.code in (0, 3), (name, done.said())
    assert done.stderr.startswith("tapelens: ") and done.stderr.count("\n") == 1, (name, done.stderr)
    assert (folder / "s.tapelens").exists() == (done.code == 0) and not (folder / "PWNED").exists()
    return done.code == 0, seconds


@pytest.mark.parametrize("name", [name for name, _ in hostile_pickles.as_they_are()])
def test_a_file_is_refused_in_one_line_or_becomes_a_recording_that_is_read(name, tmp_path):
    bytes_ = dict(hostile_pickles.as_they_are())[name]
    is_imported, _ = imported(name, bytes_, tmp_path)
    assert is_imported == (name in ("one", "large-size", "late"))
    if is_imported:
        is_read(tmp_path / "s.tapelens", tmp_path)


@pytest.mark.parametrize("name", [name for name, _ in hostile_pickles.growing(2)])
def test_what_it_costs_grows_as_the_file_does(name, tmp_path):
    few, many = dict(hostile_pickles.growing(2000))[name], dict(hostile_pickles.growing(20000))[name]
    folders = [tmp_path / "few", tmp_path / "many"]
    for folder in folders:
        folder.mkdir()
    is_few, seconds = imported(name, few, folders[0])
    is_many, longer = imported(name, many, folders[1])
    assert is_few or not is_many
    assert longer < 30 * seconds + 0.5, (seconds, longer)  # a quadratic cost is 100 times as high
    if is_many:
        is_read(folders[1] / "s.tapelens", folders[1])


def peak_kib(name, folder):
    script = ("import resource, subprocess, sys\n"
              "subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n"
              "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    done = subprocess.run([sys.executable, "-c", script, str(harness.BINARY), "import", "s.pickle", "-o", "s.tapelens"], cwd=folder, check=True,
                          capture_output=True, text=True, env=harness.environment())
    return int(done.stdout)


@pytest.mark.parametrize("name", ["stack-by-frames", "stack-by-lists-of-one", "stack-of-many", "keys", "gets"])
def test_a_file_of_some_kilobytes_needs_no_gigabytes(name, tmp_path):
    (tmp_path / "s.pickle").write_bytes(dict(hostile_pickles.growing(60000))[name])
    assert peak_kib(name, tmp_path) < 300 << 10
