"""Runs bench/on_gpu.sh, the script for machines with a GPU, with --quick on a simulated GPU: it starts, and its parts
agree with each other. The tests do not cover its results on a real GPU."""

import json
import sys
import zipfile

import pytest

import harness
import test_cuda

sys.path.insert(0, str(harness.ROOT / "bench"))
import on_gpu_base
import on_gpu_session

pytestmark = test_cuda.pytestmark
SCRIPT = harness.ROOT / "bench/on_gpu.sh"


def session(command, results, *options, binary=harness.BINARY, **variables):
    run = harness.bare([SCRIPT, command, binary, "--simulated", "H100", "--quick", *options],
                       env={"PYTHON": harness.PYTHON, "RESULTS": str(results), **variables})
    found = json.loads((results / f"on-gpu-{command}.json").read_text(encoding="utf-8"))
    assert run.stdout == (results / f"on-gpu-{command}.md").read_text(encoding="utf-8")
    return run, {part["part"]: part for part in found["parts"]}


def archived(results, command):
    with zipfile.ZipFile(results / f"on-gpu-{command}.zip") as archive:
        return archive.namelist()


def fake(tmp_path, answer):
    """A `tapelens` that does not import snapshots."""
    binary = tmp_path / "tapelens"
    binary.write_text(f'#!/bin/sh\n[ "$1" = import ] && {{ {answer}; }}\nexec {harness.BINARY} "$@"\n', encoding="utf-8")
    binary.chmod(0o755)
    return binary


def test_parts_pass_on_a_simulated_gpu_or_need_a_real_one(tmp_path):
    """A machine with a fake driver, which fails if a process loads it."""
    driver = tmp_path / "driver"
    driver.mkdir()
    for name in ("libcuda.so.1", "libnvidia-ml.so.1"):
        (driver / name).write_text("no library", encoding="utf-8")
    run, parts = session("first", tmp_path, "--parts", "beside,context,workspaces,snapshots", LD_LIBRARY_PATH=str(driver))
    assert run.code == 0, run.stdout + run.stderr
    assert {name: part["outcome"] for name, part in parts.items()} == {
        "beside": "passed", "context": "needs a GPU", "workspaces": "needs a GPU", "snapshots": "passed"}
    assert parts["beside"]["figures"][0]["bytes"] == 7 << 30
    assert len(parts["context"]["figures"]) == 9
    assert len(parts["workspaces"]["figures"]) == 6
    assert parts["snapshots"]["figures"][0]["replay"].startswith("the same ")
    assert archived(tmp_path, "first") == ["snapshots/an_MLP__AdamW.pickle.gz"]


def test_the_requests_of_a_convolution_are_its_workspaces():
    run = harness.bare([harness.BINARY, "run", "--quiet", "--gpu", "H100", "--cudnn-workspace", "8MiB", "--",
                        harness.PYTHON, on_gpu_base.PROGRAMS, "workspaces", "--quick"], check=True)
    found = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(found) == 6
    for row in found:  # the backward has one row for each gradient
        assert (row["forward"], row["backward"]) == ([8 << 20], [8 << 20] * 2)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("parts", ["order,communicator,attention", "counts", "peaks,rewrites"])
def test_the_other_parts_do_too(parts, tmp_path):
    run, found = session("second", tmp_path, "--parts", parts)
    assert run.code == 0, run.stdout + run.stderr
    assert list(found) == parts.split(",")
    for part in found.values():
        assert part["figures"] and part["outcome"] == ("passed" if part["part"] in ("order", "counts") else "needs a GPU")


def test_a_gpt_has_the_same_bits_in_less_memory(tmp_path):
    run, found = session("third", tmp_path)
    assert run.code == 0, run.stdout + run.stderr
    assert [row["command"].strip("`") for row in found["fit"]["figures"]] == [
        "bare", "tapelens run --apply bitwise", "tapelens run --apply recompute", "tapelens run --fit 14GB", "tapelens run --fit 11GB"]
    assert len({row["digest"] for row in found["fit"]["figures"]}) == 1


def test_a_part_that_fails_does_not_stop_the_others(tmp_path):
    run, parts = session("second", tmp_path, "--parts", "snapshots,cupti", binary=fake(tmp_path, "echo no import >&2; exit 3"))
    assert run.code == 1
    assert [part["outcome"] for part in parts.values()] == ["failed", "passed"]
    assert "no import" in parts["snapshots"]["figures"][0]["replay"]
    assert archived(tmp_path, "second") == ["snapshots.errors", "snapshots/an_MLP__AdamW.pickle.gz"]


def test_a_part_that_takes_too_long_is_ended_and_keeps_what_it_has(tmp_path):
    run, parts = session("second", tmp_path, "--parts", "snapshots", "--limits", "0.4", binary=fake(tmp_path, "sleep 1000"))
    assert run.code == 1
    assert parts["snapshots"]["outcome"] == "time limit" and 29 < parts["snapshots"]["seconds"] < 40
    assert "| snapshots | time limit | " in run.stdout
    assert archived(tmp_path, "second") == ["snapshots/an_MLP__AdamW.pickle.gz"]


def test_without_a_gpu_the_script_says_so_in_one_line(tmp_path):
    run = harness.bare([SCRIPT, "first", harness.BINARY],
                       env={"PYTHON": harness.PYTHON, "RESULTS": str(tmp_path), "CUDA_VISIBLE_DEVICES": ""})
    assert (run.code, run.stdout, list(tmp_path.iterdir())) == (2, "", [])
    line, = run.stderr.splitlines()
    assert "sees no GPU here" in line


def test_wrong_options_are_refused(tmp_path):
    for options in ([], ["fourth"], ["first", tmp_path / "none.whl"], ["first", harness.BINARY, "--parts", "some"]):
        run = harness.bare([SCRIPT, *options], env={"PYTHON": harness.PYTHON, "RESULTS": str(tmp_path)})
        assert run.code == 2 and run.stderr, options
    assert list(tmp_path.iterdir()) == []


def test_a_wheel_is_unpacked_so_that_its_command_finds_its_libraries(tmp_path):
    wheel = tmp_path / "tapelens-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.mkdir("tapelens-0.1.0.data/data/lib") if hasattr(archive, "mkdir") else None
        archive.writestr("tapelens-0.1.0.data/scripts/tapelens", "#!/bin/sh\ncat \"$(dirname \"$0\")/../lib/tapelens/probe.so\"\n")
        archive.writestr("tapelens-0.1.0.data/data/lib/tapelens/probe.so", "a probe")
        archive.writestr("tapelens/__init__.py", "")
    command = on_gpu_session.unpacked(wheel, tmp_path / "prefix")
    assert harness.bare([command], check=True).stdout == "a probe"


def test_archives_are_whole_after_each_file_and_none_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr(on_gpu_session, "ZIP_BYTES", 1000)
    archive = on_gpu_session.Archive(tmp_path / "on-gpu-first")
    contents = {f"{number}": bytes((number * place * place) % 251 for place in range(400)) for number in range(1, 6)}
    for name, content in contents.items():
        assert archive.add(name, content)
    assert not archive.add("large", bytes(1001))
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1 and all(file.stat().st_size < 2000 for file in files)
    found = {}
    for file in files:
        with zipfile.ZipFile(file) as opened:
            found.update({name: opened.read(name) for name in opened.namelist()})
    assert found == contents
