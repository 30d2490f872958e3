"""PyTorch's operator database: with every rewrite, programs have the same gradients, bit for bit, or the same error as
without. This includes programs that change memory between forward and backward (cases/opdb_kinds.py). Runs a sample by
a fixed seed; `scripts/test --all` runs all."""

import pytest

import operator_database
import sampling

CHUNKS = 24 if sampling.ALL else 1
LEAST_RUNS = 200_000 // CHUNKS if sampling.ALL else 5_000


@pytest.mark.parametrize("apply", ["recompute", "bitwise", "lossless"] if sampling.ALL else ["recompute"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_every_operator_has_the_gradients_that_it_has_alone(chunk, apply):
    compared = operator_database.compare([chunk, CHUNKS, "all" if sampling.ALL else "sampled", sampling.SEED], apply)
    assert compared.ended == ""
    assert compared.runs > LEAST_RUNS
    assert len(compared.not_repeatable) < 0.01 * compared.runs, compared.not_repeatable
    assert "rewrote" in compared.said
    differing = [f"{name}: {bare} became {rewritten}" for name, bare, rewritten in compared.differences]
    assert not differing, f"{len(differing)} of {compared.runs} runs differ:\n" + "\n".join(differing[:20])
