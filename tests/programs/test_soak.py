"""Memory that Tapelens keeps does not grow with the steps of a program: bench/soak.py in its quick form, whose worker
does not use Tapelens. The whole form has 10,000 steps of each program in a separate process."""

import functools
import sys

import pytest

import harness
from test_cuda import has_cuda

sys.path.insert(0, str(harness.ROOT / "bench"))
import soak  # noqa: E402

STEPS = 400
WRITES = 40_000


@pytest.fixture(scope="module", autouse=True)
def build():
    before = soak.binary
    soak.binary = lambda: str(harness.BINARY)
    yield
    soak.binary = before


@functools.cache
def grown(way, device):
    return soak.soaked(way, device, soak.PROGRAMS if device == "cpu" else soak.FEW, STEPS)


@functools.cache
def chains(way):
    return soak.chains(way, WRITES, 8)


@pytest.mark.parametrize("way", soak.WAYS)
@pytest.mark.parametrize("program", soak.PROGRAMS)
def test_a_training_takes_no_more_memory_with_each_step(program, way):
    assert soak.verdict(grown(way, "cpu")[program], grown("bare", "cpu")[program], STEPS) is None


@pytest.mark.skipif(not has_cuda(), reason="this PyTorch is built without CUDA")
@pytest.mark.parametrize("way", soak.WAYS)
@pytest.mark.parametrize("program", soak.FEW)
def test_nor_of_the_hosts_memory_on_a_simulated_gpu(program, way):
    assert soak.verdict(grown(way, "cuda")[program], grown("bare", "cuda")[program], STEPS) is None


@pytest.mark.parametrize("way", soak.WAYS)
def test_a_state_that_is_written_very_often_is_freed_on_a_small_stack(way):
    bare = chains("bare")
    assert bare[0] == 0, bare
    assert soak.chains_verdict(chains(way), bare) is None
