"""scripts/layers fails on an include of a higher layer, on folders that link each other, and on a stale picture."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import harness

PAGE = "docs/architecture.md"


class Tree:
    """Copies the sources."""

    def __init__(self, root):
        self.root = root

    def layers(self, *options):
        done = subprocess.run([self.root / "scripts" / "layers", *options], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def text(self, path):
        return (self.root / path).read_text(encoding="utf-8")

    def write(self, path, text):
        (self.root / path).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    root = tmp_path_factory.mktemp("tree")
    git = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for path in subprocess.run(git, cwd=harness.ROOT, check=True, capture_output=True, text=True).stdout.split("\0"):
        if path and (harness.ROOT / path).is_file():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(harness.ROOT / path, root / path)
    (root / ".venv").symlink_to(pathlib.Path(sys.prefix))  # CMake finds PyTorch there
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    return Tree(root)


@pytest.fixture
def tree(copied):
    """Restores each file that a test writes."""
    kept = {path: copied.text(path) for path in ("analyzer/model/text.h", "trace/CMakeLists.txt", PAGE)}
    yield copied
    for path, text in kept.items():
        copied.write(path, text)


def plant(tree, path, included):
    tree.write(path, f'{tree.text(path)}\n#include "{included}"\n')
    return f"{path}:{len(tree.text(path).splitlines())}: includes {included}"


def test_the_tree_as_it_is(tree):
    assert tree.layers("--check") == (0, "")


def test_an_include_that_goes_up(tree):
    planted = plant(tree, "analyzer/model/text.h", "analyzer/report/report.h")
    code, said = tree.layers("--check")
    assert code == 1
    assert [line for line in said.splitlines() if line.startswith(planted)]
    assert "no target of analyzer/model (tapelens_model) links one of analyzer/report" in said


def test_an_include_of_what_only_tests_use(tree):
    planted = plant(tree, "analyzer/model/text.h", "testing/trace_builder.h")
    code, said = tree.layers("--check")
    assert code == 1
    assert f"{planted}: nobody includes testing/" in said


def test_links_that_go_round(tree):
    """Static libraries may link each other. Then the includes count instead of the links."""
    library = "trace/CMakeLists.txt"
    tree.write(library, f"{tree.text(library)}\ntarget_link_libraries(tapelens_trace PUBLIC tapelens_model)\n")
    code, said = tree.layers("--check")
    assert code == 1
    assert "folders that include or link one another: analyzer/model -> trace -> analyzer/model" in said


def test_a_stale_picture(tree):
    page = tree.text(PAGE)
    arrow = "  analyzer_model --> trace\n"
    assert page.count(arrow) == 1
    tree.write(PAGE, page.replace(arrow, ""))
    code, said = tree.layers("--check")
    assert code == 1
    assert "scripts/layers --write" in said
    assert tree.layers("--write") == (0, "")
    assert tree.text(PAGE) == page
