"""The output of `report` and `advise` for typical programs (stories/), word for word, against tests/golden/programs/.

    TAPELENS_UPDATE_GOLDEN=1 python -m pytest tests/programs/test_stories.py   writes the current output
"""

import concurrent.futures
import os
import re

import pytest

import console
import harness

FOLDER = harness.HERE / "stories"
GOLDEN = harness.ROOT / "tests/golden/programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
UPDATE = os.environ.get("TAPELENS_UPDATE_GOLDEN") == "1"
MOST_LINES = 40


@pytest.fixture(scope="module")
def told(request, tmp_path_factory):
    def run(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.py").write_text((FOLDER / f"{name}.py").read_text(encoding="utf-8"), encoding="utf-8")
        command = [harness.BINARY, "record", "--quiet", "-o", "run.tapelens", "--", "python", f"{name}.py"]
        path = f"{os.path.dirname(harness.PYTHON)}:{os.environ['PATH']}"
        run = harness.bare(command, env={**console.ENVIRONMENT, "PATH": path}, cwd=folder)
        assert run.code == 0, run.stderr
        return {what: harness.bare([harness.BINARY, what, "run.tapelens", "--color", "never"], cwd=folder, check=True).stdout
                for what in ("report", "advise")}

    chosen = {item.callspec.params["name"] for item in request.session.items
              if item.module is request.module and hasattr(item, "callspec")} | {"leak"}
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        yield {name: executor.submit(run, name) for name in NAMES if name in chosen}


def with_one_first_line(text):
    """The first paragraph in one line, because the digits of its times move the breaks."""
    first, rest = text.split("\n\n", 1)
    return " ".join(first.split()) + "\n\n" + rest


@pytest.mark.parametrize("what", ["report", "advise"])
@pytest.mark.parametrize("name", NAMES)
def test_it_says_the_same_as_before(name, what, told):
    text = console.same_in_every_run(told[name].result()[what])
    if what == "advise":
        assert len(told[name].result()[what].splitlines()) <= MOST_LINES
    golden = GOLDEN / f"{name}.{what}.txt"
    if UPDATE:
        GOLDEN.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert with_one_first_line(text) == with_one_first_line(golden.read_text(encoding="utf-8"))


def test_when_a_leak_fills_the_memory(told):
    text = " ".join(told["leak"].result()["advise"].split())
    steps = int(re.search(r"At this rate the [\d.]+ \w+ of cpu are full after about (\d+) more steps\.", text).group(1))
    assert "and 288.0 KiB." in text
    left = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") - 17.4 * 2**20
    assert steps == pytest.approx(left / (288 * 2**10), rel=0.06)


def test_there_are_eight():
    assert len(NAMES) >= 8
