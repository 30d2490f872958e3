"""A reported problem is among the first two entries of the advice, with its line and the peak of the fixed program."""

import json

import pytest

import reported

PROGRAMS = {program.path.stem: program for program in reported.collect()}
MOST_OFF = 0.02


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_reported_program_is_told_of_first(name, tmp_path):
    outcome = reported.outcome(PROGRAMS[name], tmp_path)
    assert outcome.is_first, outcome
    assert outcome.forbidden == []
    assert abs(outcome.error) <= MOST_OFF, outcome


def finding(check="idle-holder", line=1, **words):
    return {"id": "a", "check": check, "title": "", "message": "", "fix": {"text": ""}, "peak_after_bytes": 50,
            "source": {"file": "x.py", "line": line}, **words}


def judged(tmp_path, told, found, entries):
    (tmp_path / "x.py").write_text("y = f(x)\nz = y\n", encoding="utf-8")
    program = reported.Program(tmp_path / "x.py", (told,), never=("never this",))
    value = {"advice": {"peak_before_bytes": 100, "entries": entries}, "findings": found}
    return reported.judged(program, value, 49)


@pytest.mark.parametrize("told, entry", [
    ({"line": "f(x)"}, 1), ({"line": ["f(x)", "z ="]}, 1), ({"line": "z ="}, 0),
    ({"line": "f(x)", "check": "late-gradient"}, 0), ({"line": "f(x)", "says": "clone"}, 0),
    ({"line": "f(x)", "says": "detach", "check": ["idle-holder"]}, 1)])
def test_an_expectation_names_check_line_and_words(told, entry, tmp_path):
    found = finding(message="never this", fix={"text": "detach it"})
    outcome = judged(tmp_path, told, [found], [{"findings": ["a"], "peak_after_bytes": 50}])
    assert outcome.entries == [entry]
    assert outcome.forbidden == ["never this"]
    assert outcome.predicted == (50 if entry else None)


def test_an_expected_line_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(AssertionError, match="has none of"):
        judged(tmp_path, {"line": "gone"}, [finding()], [{"findings": ["a"], "peak_after_bytes": 50}])


def test_a_program_without_its_fix_is_a_mistake(tmp_path):
    (tmp_path / "alone.py").touch()
    (tmp_path / "expected.json").write_text(json.dumps({"alone": {"find": []}}), encoding="utf-8")
    with pytest.raises(AssertionError, match="alone_fixed.py"):
        reported.collect(tmp_path)
