"""The predicted peak of an entry equals the peak of the program with the entry's patch. Tested on the reported programs and
on the programs with one bug each. The patch of an entry with several findings may fix only some of them."""

import dataclasses
import subprocess

import pytest

import reported
from test_seeded import FOLDER as SEEDED
from test_seeded import advise, git, in_halves, record

PROGRAMS = {path.stem: path for path in [*sorted(SEEDED.glob("*.py")),
                                         *(program.path for program in reported.collect() if not program.record)]}
MOST_OFF = 0.02
WITH_PATCHES = {"adversarial", "evaluation", "frozen_backbone", "kept_gradients", "lazy_evaluation"}


@dataclasses.dataclass
class Mended:
    entry: int  # its number
    checks: list
    predicted: int
    program: object  # its path
    measured: int = 0


def patched_entries(value):
    """The entries with patches: number, checks, patches up to the entry, and the predicted peak with these. After an entry
    without a patch, the advice predicts the peak of single findings only."""
    findings = {finding["id"]: finding for finding in value["findings"]}
    before = []  # None: an earlier entry has no patch
    for number, entry in enumerate(value["advice"]["entries"], 1):
        own = [findings[name] for name in entry["findings"]]
        patches = list(dict.fromkeys(finding["fix"]["patch"] for finding in own if finding["fix"]["patch"]))
        checks = [finding["check"] for finding in own]
        if patches and before is not None:
            before = list(dict.fromkeys([*before, *patches]))
            yield number, checks, before, entry["peak_after_bytes"]
        elif patches and len(own) == 1:
            yield number, checks, patches, own[0]["peak_after_bytes"]
        else:
            before = None


def patched(text, patches, folder, name):
    """The path of the program with these patches; None if they conflict."""
    git_folder = folder / name
    git_folder.mkdir()
    git(git_folder, "init", "--quiet")
    program = git_folder / f"{name.rpartition('-')[0]}.py"
    program.write_text(text, encoding="utf-8")
    for number, patch in enumerate(patches):
        (git_folder / f"{number}.patch").write_text(patch, encoding="utf-8")
        done = subprocess.run(["git", "apply", f"{number}.patch"], cwd=git_folder, capture_output=True, check=False)
        if done.returncode != 0:
            return None
    return program


def measure(names, folder):
    """By program: its entries with patches, the peaks that are predicted, and those that are measured."""
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "--quiet")
    programs = {name: repository / f"{name}.py" for name in names}
    for name, program in programs.items():
        program.write_text(PROGRAMS[name].read_text(encoding="utf-8"), encoding="utf-8")
    target = folder / "run.tapelens"
    ran = record(list(programs.values()), target)
    mended = {name: [] for name in names}
    for name, program in programs.items():
        for number, checks, patches, predicted in patched_entries(advise(repository, target, ran[program][0])):
            path = patched(program.read_text(encoding="utf-8"), patches, folder, f"{name}-{number}")
            if path:
                mended[name].append(Mended(number, checks, predicted, path))
    every = [one for own in mended.values() for one in own]
    if every:
        peaks = record([one.program for one in every], folder / "mended.tapelens")
        for one in every:
            one.measured = peaks[one.program][1]
    return mended


@pytest.fixture(scope="module")
def pool(request, tmp_path_factory):
    with in_halves(request, lambda: tmp_path_factory.mktemp("entries"), measure) as entries:
        yield entries


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_entry_has_the_peak_of_the_program_with_its_patch(name, pool):
    entries = pool(name)
    assert entries or name not in WITH_PATCHES
    for one in entries:
        assert one.measured == pytest.approx(one.predicted, rel=MOST_OFF), one
