"""A full disk, missing write permission, a file size limit: the program runs as without Tapelens, and a message reports
the loss."""

import contextlib
import os
import subprocess

import pytest

import harness
from test_crash import ENDLESS


@contextlib.contextmanager
def tmpfs(folder, options):
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True,
                             text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount a tmpfs here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def program(tmp_path, iterations=300):
    return [harness.PYTHON, ENDLESS, tmp_path / "progress", "wait", iterations]


def losses(report):
    return {loss["kind"]: loss["count"] for loss in report["recording"]["lost"]}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mebibytes", [10, 18, 26])
def test_the_last_of_a_disk_is_left_to_the_program(mebibytes, tmp_path):
    alone = harness.bare(program(tmp_path, 2500), check=True)
    with tmpfs(tmp_path / "small", f"size={mebibytes}m") as small:
        target = small / "run.tapelens"
        recorded = harness.record(program(tmp_path, 2500), target)
        assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
        if not target.exists():
            # The spool fills the disk, so the sealed file has no room either. A message names the command that seals
            # the spool later.
            assert "tapelens seal" in recorded.stderr, recorded.stderr
            target = tmp_path / "elsewhere.tapelens"
            sealed = harness.bare([harness.BINARY, "seal", small / "run.tapelens.spool", "-o", target])
            assert sealed.code == 0, sealed.stderr
        report = harness.report(target)
        assert harness.bare([harness.BINARY, "report", target, "--strict"]).code == 4
    assert losses(report).get("disk_reserve", 0) > 0, losses(report)
    assert not report["recording"]["complete"]
    assert [r for r in report["ranges"] if r["name"] == "mark-0"], "what was written before is kept"


def test_the_spools_can_be_on_another_disk(tmp_path):
    with tmpfs(tmp_path / "small", "size=16m") as small:
        target = small / "run.tapelens"
        recorded = harness.record(program(tmp_path, 2500), target, options=["--spool", tmp_path])
        assert recorded.code == 0 and recorded.stderr == ""
        assert losses(harness.report(target)) == {}
        assert sorted(path.name for path in small.iterdir()) == ["run.tapelens"]
    assert not (tmp_path / "run.tapelens.spool").exists()


@pytest.mark.parametrize("kibibytes", [256, 1024])
def test_a_disk_with_room_for_next_to_nothing(kibibytes, tmp_path):
    alone = harness.bare(program(tmp_path, 20), check=True)
    with tmpfs(tmp_path / "small", f"size={kibibytes}k") as small:
        (small / "filler").write_bytes(b"x" * ((kibibytes - 16) << 10))
        recorded = harness.record(program(tmp_path, 20), small / "run.tapelens", quiet=False)
        assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
        assert "No space left" in recorded.stderr, recorded.stderr
        if not (small / "run.tapelens").exists() and "sealed" not in recorded.stderr:
            assert len(recorded.stderr.splitlines()) == 1, recorded.stderr
            assert list(small.iterdir()) == [small / "filler"]


def test_a_read_only_disk(tmp_path):
    alone = harness.bare(program(tmp_path, 20), check=True)
    with tmpfs(tmp_path / "fixed", "size=1m,ro") as fixed:
        recorded = harness.record(program(tmp_path, 20), fixed / "run.tapelens")
    assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
    assert len(recorded.stderr.splitlines()) == 1 and "unrecorded" in recorded.stderr


@pytest.mark.parametrize("where", ["no/such/folder/run.tapelens", "file/run.tapelens"])
def test_an_unwritable_target(where, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    alone = harness.bare(program(tmp_path, 20), check=True)
    recorded = harness.record(program(tmp_path, 20), tmp_path / where)
    assert (recorded.code, recorded.stdout) == (alone.code, alone.stdout)
    if not os.path.exists(tmp_path / where):
        assert recorded.stderr.strip(), "nothing was recorded and nothing was said"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", ["64KiB", "1MiB", "4MiB"])
def test_the_size_limit(limit, target, tmp_path):
    alone = harness.bare(program(tmp_path), check=True)
    recorded = harness.record(program(tmp_path), target, options=["--max-size", limit])
    assert recorded.said() == alone.said()
    report = harness.report(target)
    assert losses(report).get("size_limit", 0) > 0
    assert not report["recording"]["complete"]
    if limit != "64KiB":
        assert [r for r in report["ranges"] if r["name"] == "mark-0"]
    strict = harness.bare([harness.BINARY, "report", target, "--strict"])
    assert strict.code == 4


def test_an_output_that_finds_no_room_leaves_the_older_one(tmp_path):
    recording = tmp_path / "run.tapelens"
    assert harness.record(program(tmp_path, 20), recording, options=["--keep-spool"]).code == 0
    commands = {"run.html": ["report", recording, "--format", "html", "-o"],
                "run.sqlite": ["export", recording, "--format", "sqlite", "-o"],
                "run.json": ["export", recording, "--format", "speedscope", "-o"],
                "memory.json": ["check", recording, "--write-baseline"],
                "again.tapelens": ["seal", f"{recording}.spool", "-o"]}
    with tmpfs(tmp_path / "small", "size=16m") as small:
        for name, command in commands.items():
            harness.bare([harness.BINARY, *command, small / name], check=True)
        older = {path.name: path.read_bytes() for path in small.iterdir()}
        with contextlib.suppress(OSError), open(small / "filler", "wb", buffering=0) as filler:
            while True:
                filler.write(b"x" * 4096)
        for name, command in commands.items():
            full = harness.bare([harness.BINARY, *command, small / name])
            assert full.code == 3 and len(full.stderr.splitlines()) == 1, full
            assert f"{name}: " in full.stderr and ("No space left" in full.stderr or "full" in full.stderr), full.stderr
        (small / "filler").unlink()
        assert {path.name: path.read_bytes() for path in small.iterdir()} == older
