"""What `report` and `advise` say of programs as people write them (stories/), word for word, against tests/golden/programs/.

    TAPELENS_UPDATE_GOLDEN=1 python -m pytest tests/programs/test_stories.py   writes what they say now
"""

import concurrent.futures
import os
import re

import pytest

import harness

FOLDER = harness.HERE / "stories"
GOLDEN = harness.ROOT / "tests/golden/programs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
UPDATE = os.environ.get("TAPELENS_UPDATE_GOLDEN") == "1"
# Which kernels run is the processor's, unless it is said; with them goes their workspace.
ENVIRONMENT = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
MOST_LINES = 40


def same_in_every_run(text):
    """Without times, process ids, paths and what is ranked by time measured."""
    text = text.replace(str(harness.PYTHON), "python")
    text = re.sub(r"\b\d+(\.\d+)? (s|ms|us)\b", "TIME", text)
    text = re.sub(r"PyTorch [\d.]+\w*(\+\w+)?", "PyTorch VERSION", text)
    text = re.sub(r"^Trade compute for memory.*?(?=^\S)", "Trade compute for memory: ranked by time\n\n", text,
                  flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"[\d,]+ events", "EVENTS", text)
    return "".join(line.rstrip() + "\n" for line in text.splitlines())


@pytest.fixture(scope="module")
def told(request, tmp_path_factory):
    def run(name):
        folder = tmp_path_factory.mktemp(name)
        (folder / f"{name}.py").write_text((FOLDER / f"{name}.py").read_text(encoding="utf-8"), encoding="utf-8")
        command = [harness.BINARY, "record", "--quiet", "-o", "run.tapelens", "--", "python", f"{name}.py"]
        path = f"{os.path.dirname(harness.PYTHON)}:{os.environ['PATH']}"
        run = harness.bare(command, env={**ENVIRONMENT, "PATH": path}, cwd=folder)
        assert run.code == 0, run.stderr
        return {what: harness.bare([harness.BINARY, what, "run.tapelens", "--color", "never"], cwd=folder, check=True).stdout
                for what in ("report", "advise")}

    chosen = {item.callspec.params["name"] for item in request.session.items
              if item.module is request.module and hasattr(item, "callspec")}
    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        yield {name: executor.submit(run, name) for name in NAMES if name in chosen}


@pytest.mark.parametrize("what", ["report", "advise"])
@pytest.mark.parametrize("name", NAMES)
def test_it_says_the_same_as_before(name, what, told):
    text = same_in_every_run(told[name].result()[what])
    if what == "advise":
        assert len(told[name].result()[what].splitlines()) <= MOST_LINES
    golden = GOLDEN / f"{name}.{what}.txt"
    if UPDATE:
        GOLDEN.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_there_are_eight():
    assert len(NAMES) >= 8
