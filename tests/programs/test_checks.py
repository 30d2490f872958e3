"""Every check with its programs: the exact bytes of each expected finding, no finding in programs without one, and a
predicted peak that equals the peak of the program fixed by hand.

    python -m pytest tests/programs/test_checks.py -k trivial_concat
"""

import pytest

import check_programs

PROGRAMS = check_programs.collect()


@pytest.fixture(scope="session")
def pool(request):
    """Records only the selected programs: `-k` has removed the others by now."""
    chosen = [item.callspec.params["program"] for item in request.session.items
              if getattr(item, "originalname", "") == "test_program"]
    pool = check_programs.Pool(chosen)
    yield pool
    pool.close()


def summary(findings):
    return [{key: f[key] for key in ("severity", "title", "bytes", "occurrences", "source")} for f in findings]


@pytest.mark.sampled(20)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.id)
def test_program(program, pool):
    outcome = pool.outcome(program)
    if not program.is_positive:
        assert summary(outcome.findings) == []
        return
    if program.text:
        assert outcome.findings, "the page's first program shows nothing"
        return
    assert len(outcome.findings) == 1, summary(outcome.findings)
    (finding,) = outcome.findings
    assert {key: finding[key] for key, _ in program.properties} == dict(program.properties)
    assert finding["peak_before_bytes"] == outcome.peak
    if outcome.fixed_peak is not None:
        assert finding["peak_after_bytes"] == pytest.approx(outcome.fixed_peak, rel=0.01)


@pytest.mark.parametrize("check", check_programs.check_ids())
def test_a_check_has_a_page_with_two_programs_and_enough_others(check):
    own = [program for program in PROGRAMS if program.check == check]
    assert [program.name for program in own if program.text] == ["page_shows_it", "page_looks_like_it"]
    assert sum(program.is_positive for program in own) >= 3
    assert sum(not program.is_positive for program in own) >= 3


def test_enough_programs_are_mended_by_hand():
    assert sum(bool(program.fixed) for program in PROGRAMS) >= 12
