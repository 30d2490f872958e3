"""scripts/new-check in a copy of the tree: its files compile, and its programs give the promised findings."""

import ast
import os
import shutil
import subprocess

import pytest

import check_programs
import harness

SAMPLE = os.environ.get("TAPELENS_SAMPLE_PLUGIN", "")  # a new check begins as a copy of this one
COMPILER = os.environ.get("CXX", "c++")
ID = "long-lived-mask"


def new_check(root, *words):
    return subprocess.run([root / "scripts/new-check", *words], capture_output=True, text=True, check=False)


@pytest.fixture(name="tree")
def copied_tree(tmp_path):
    for name in ("scripts/new-check", "samples/plugin/float64_save.cpp", "plugins/CMakeLists.txt",
                 "tests/programs/checks/cases.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(harness.ROOT / name, tmp_path / name)
    return tmp_path


def files(root):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in root.rglob("*") if path.is_file()}


def test_it_writes_three_files_and_a_line(tree):
    before = files(tree)
    done = new_check(tree, ID)
    assert (done.returncode, done.stderr) == (0, "")
    after = files(tree)
    assert sorted(set(after) - set(before)) == [f"plugins/{ID}/README.md", f"plugins/{ID}/check.cpp",
                                                "tests/programs/checks/long_lived_mask.py"]
    changed = [name for name, text in before.items() if after[name] != text]
    assert changed == ["plugins/CMakeLists.txt"]
    lines = after["plugins/CMakeLists.txt"].splitlines()
    at = lines.index(f"  {ID}")
    assert [*lines[:at], *lines[at + 1:]] == before["plugins/CMakeLists.txt"].splitlines()
    assert lines[at - 1] < lines[at] < lines[at + 1]
    ast.parse(after["tests/programs/checks/long_lived_mask.py"])


def test_what_it_cannot_begin_it_refuses_and_writes_nothing(tree):
    assert new_check(tree, ID).returncode == 0
    before = files(tree)
    for words, code, said in (([ID], 1, "is there already"), (["Long_Lived"], 1, "is not an id"), (["../x"], 1, "is not an id"),
                              ([], 2, "scripts/new-check ID"), (["a", "b"], 2, "scripts/new-check ID"),
                              (["--what"], 2, "scripts/new-check ID")):
        done = new_check(tree, *words)
        assert done.returncode == code and said in done.stderr and done.stdout == "", words
    assert "scripts/new-check ID" in new_check(tree, "--help").stdout
    assert files(tree) == before


def test_the_check_compiles(tree):
    assert new_check(tree, ID).returncode == 0
    source = tree / f"plugins/{ID}/check.cpp"
    assert '"long-lived-mask"' in source.read_text(encoding="utf-8")
    generated = tree / "generated/analyzer/check/interface_hash.h"  # by the build, with another number
    generated.parent.mkdir(parents=True)
    generated.write_text("#pragma once\n#include <cstdint>\nnamespace tapelens::check {\nconstexpr uint64_t kInterfaceHash = 1;\n}\n", encoding="utf-8")
    subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{harness.ROOT}", f"-I{tree / 'generated'}", source],
                   check=True)


def test_its_programs_give_what_they_promise(tree, monkeypatch):
    assert new_check(tree, ID).returncode == 0
    monkeypatch.setattr(check_programs, "PLUGINS", tree / "plugins")
    monkeypatch.setattr(check_programs, "PROGRAMS", tree / "tests/programs/checks")
    assert check_programs.check_ids() == [ID]
    programs = [*check_programs.of_page(ID), *check_programs.of_file(ID)]
    assert sum(program.is_positive for program in programs) >= 3
    assert sum(not program.is_positive for program in programs) >= 3

    advise = harness.advise

    def advise_by_sample(target, options):
        advice = advise(target, ["--plugin", SAMPLE, *("float64-save" if word == ID else word for word in options)])
        for finding in advice["findings"]:
            finding["check"] = ID
        return advice

    monkeypatch.setattr(harness, "advise", advise_by_sample)
    folder = tree / "measured"
    folder.mkdir()
    for name, outcome in check_programs.measure(programs, folder).items():
        (program,) = (program for program in programs if program.id == name)
        assert len(outcome.findings) == program.is_positive, name
        for key, value in program.properties:
            assert outcome.findings[0][key] == value, (name, key)
