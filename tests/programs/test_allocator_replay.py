"""The model of PyTorch's caching allocator, with the requests of a recorded program, makes the same segments and blocks
as PyTorch's allocator, under each of its settings. Its prediction for other settings equals the reserved bytes of a run
with them."""

import json

import pytest

import harness
import test_cuda
from cuda_counts import SETTINGS

MIB = 1 << 20
RANDOM = harness.CASES / "cuda_random.py"
# Further allocator settings of PYTORCH_CUDA_ALLOC_CONF, besides those of every CUDA test.
CONFIGURED = {**{name: text for name, text in SETTINGS.items() if name != "async"},
              "mixed": "expandable_segments:True,max_split_size_mb:64,roundup_power2_divisions:[2:1,16:2,>:8]",
              "large": "large_segment_size_mb:40,max_split_size_mb:64,max_non_split_rounding_mb:50"}

pytestmark = test_cuda.pytestmark


def run(arguments, settings, target, tmp_path, gpu="H100", fraction=None, code=0):
    """Records a program with PYTORCH_CUDA_ALLOC_CONF. Returns PyTorch's counts of its allocator, or None if the program
    failed."""
    out = tmp_path / "counts.json"
    out.unlink(missing_ok=True)
    env = {"CUDA_STATS": str(out), "PYTORCH_CUDA_ALLOC_CONF": settings, "PYTORCH_ALLOC_CONF": settings,
           **({"CUDA_FRACTION": str(fraction)} if fraction else {})}
    ended = harness.record([harness.PYTHON, *arguments], target, ["--gpu", gpu], env=env, timeout=600)
    assert ended.code == code, f"{arguments} ended with {ended.code}:\n{ended.stdout}{ended.stderr}"
    return json.loads(out.read_text(encoding="utf-8")) if code == 0 else None


def allocator(target, *options):
    return harness.advise(target, options)["advice"]["allocator"]


def expect_exact(found, counted):
    assert found["replay_differs"] is None
    assert found["compared_events"] >= counted["allocation.all.allocated"] + counted["allocation.all.freed"]
    assert found["reserved_peak_before_bytes"] == counted["reserved_bytes.all.peak"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("settings", CONFIGURED)
@pytest.mark.parametrize("seed", range(6))
def test_random_requests_get_the_blocks_and_segments_that_they_got(seed, settings, target, tmp_path):
    fraction = 0.04 if settings == "collected" else None
    counted = run([RANDOM, seed, 2500, 2000], CONFIGURED[settings], target, tmp_path, fraction=fraction)
    found = allocator(target)
    expect_exact(found, counted["devices"][0])
    assert found["settings"] == CONFIGURED[settings]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("setting", test_cuda.COUNTED)
@pytest.mark.parametrize("name", ["samples", "models", "examples", "compiled", "sequence"])
def test_a_program_gets_the_blocks_and_segments_that_it_got(name, setting, target, tmp_path):
    counted, _ = test_cuda.recorded(name, setting, target, tmp_path)
    expect_exact(allocator(target), counted["devices"][0])


@pytest.mark.parametrize("name", ["memory", "full"])
@pytest.mark.parametrize("setting", test_cuda.COUNTED)
def test_streams_pools_graphs_and_a_full_gpu_are_replayed(name, setting, target, tmp_path):
    counted, _ = test_cuda.recorded(name, setting, target, tmp_path)
    for number, figures in enumerate(counted["devices"]):
        if figures["allocation.all.allocated"]:
            expect_exact(allocator(target, "--device", f"cuda:{number}"), figures)


@pytest.mark.parametrize("arguments", [[RANDOM, 11, 2500, 2000], [RANDOM, 12, 2500, 3000], [harness.CASES / "cuda_models.py"]],
                         ids=["random", "more_random", "models"])
def test_what_a_setting_would_reserve_is_what_a_run_with_it_reserves(arguments, target, tmp_path):
    run(arguments, "", target, tmp_path)
    tried = allocator(target)["tried"]
    assert len(tried) >= 5
    for one in tried:
        counted = run(arguments, one["settings"], tmp_path / "other.tapelens", tmp_path)
        assert (one["settings"], one["reserved_peak_bytes"]) == (one["settings"], counted["devices"][0]["reserved_bytes.all.peak"])
        assert one["served"]


def settings_alone(fits):
    return [way for way in fits["ways"] if not way["findings"]]


def test_what_would_fit_fits_and_what_would_not_does_not(target, tmp_path):
    """A run fails on a small GPU for lack of memory. With each suggested setting it succeeds."""
    program = [RANDOM, 23, 2500, 3000]
    run(program, "", target, tmp_path)
    assert allocator(target, "--fits", "70GiB")["fits"]["failed"] is None
    # Less memory than the run reserves on a large GPU, because the allocator frees its cache before it fails.
    asked = ((card, allocator(target, "--fits", f"{card}MiB")["fits"]) for card in range(3900, 3500, -50))
    card, fits = next((card, fits) for card, fits in asked if fits["failed"] and settings_alone(fits))
    assert not fits["ran_out_of_memory"]
    full = tmp_path / "full.tapelens"
    run(program, "", full, tmp_path, gpu=f"H100:{card}MiB", code=1)
    after = allocator(full)
    assert after["replay_differs"] is None
    assert after["fits"]["ran_out_of_memory"]
    assert {key: after["fits"]["failed"][key] for key in ("bytes", "reserved_bytes")} == \
        {key: fits["failed"][key] for key in ("bytes", "reserved_bytes")}
    assert settings_alone(after["fits"])
    for way in settings_alone(fits):
        counted = run(program, way["settings"], tmp_path / "other.tapelens", tmp_path, gpu=f"H100:{card}MiB")
        assert (way["settings"], way["reserved_peak_bytes"]) == (way["settings"], counted["devices"][0]["reserved_bytes.all.peak"])
