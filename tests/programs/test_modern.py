"""Modern training, one feature at a time. Recording changes no result and loses no event, the saves equal those of
PyTorch's hooks, and the rewrites change no bit of a gradient."""

import collections
import dataclasses
import json
import shutil

import pytest

import harness

MODERN = harness.HERE / "modern"


@dataclasses.dataclass(frozen=True)
class Feature:
    command: tuple
    gradients: int  # gradients at the begin of the optimizers' steps, over all steps and processes
    processes: int = 1  # processes that train
    forked: int = 0  # children that are not recorded
    by_closure: int = 0  # gradients that are made inside of a step
    strided: bool = False  # nested tensors of the older layout are saved, too, of which the recording counts no logical bytes
    oracle: bool = True  # False: PyTorch runs no saved-tensor hooks around it
    fields: tuple = ()  # the fields to count, if not all: a compiler's tracing saves fake tensors, which no hook sees


def program(gradients, file, *arguments, **how):
    return Feature((harness.PYTHON, MODERN / file, *arguments), gradients, **how)


def module(gradients, name, *arguments, **how):
    return Feature((harness.PYTHON, "-m", name, *arguments), gradients, **how)


def launched(gradients, file, *arguments, **how):
    return Feature(tuple(harness.torchrun(MODERN / file, *arguments)), gradients, processes=2, **how)


COMPILED = ("PowBackward0.self",)  # and the saves of the compiled function

FEATURES = {
    "accumulation": program(18, "accumulation.py"),
    "amp": program(36, "amp.py"),
    "asyncio": program(32, "tasks.py"),
    "attention": program(18, "attention.py"),
    "averaged": program(24, "averaged.py"),
    "checkpoint": program(108, "checkpointed.py", "nonreentrant"),
    "checkpoint_reentrant": program(108, "checkpointed.py", "reentrant"),
    "checkpoint_selective": program(108, "selective_checkpoint.py"),
    "clipped": program(32, "clipped.py"),
    "compiled_aot_eager": program(18, "compiled.py", "aot_eager", fields=COMPILED),
    "compiled_inductor": program(18, "compiled.py", "inductor", fields=COMPILED),
    "custom_functions": program(20, "custom_functions.py"),
    "dataloader_fork": program(16, "loader.py", "fork", forked=2),
    "dataloader_spawn": program(16, "loader.py", "spawn"),
    "ddp_spawn": program(144, "ddp.py", processes=2),
    "ddp_torchrun": launched(144, "ddp.py"),
    "double_backward": program(24, "gradient_penalty.py"),
    "dtensor": program(72, "dtensor.py", processes=2),
    "fsdp2": program(90, "fsdp2.py", processes=2),
    "fsdp2_autocast": program(216, "fsdp2.py", "amp", processes=2),
    "gan": program(30, "gan.py"),
    "hooks": program(72, "hooks.py"),
    "in_place": program(54, "in_place.py"),
    "ipython": module(20, "IPython", "--no-banner", "--quick", "--colors=NoColor", "--HistoryManager.enabled=False",
                      MODERN / "notebook.ipy"),
    "jupyter": module(20, "nbconvert", "--to=notebook", "--stdout", "--execute", "--log-level=ERROR",
                      "--ExecutePreprocessor.record_timing=False", MODERN / "cells.ipynb"),
    "lbfgs": program(12, "lbfgs.py", by_closure=18),
    "lightning": program(12, "lightning_module.py", by_closure=16),
    "module_and_exec": module(16, "package.train", "4"),
    "nested": program(33, "nested.py", strided=True),
    "optimizer_in_backward": program(108, "optimizer_in_backward.py"),
    "packed_sequences": program(66, "packed_rnn.py"),
    "parametrized": program(33, "parametrized.py"),
    "quantization_aware": program(32, "qat.py"),
    "save_on_cpu": program(108, "save_on_cpu.py"),
    "sparse_embedding": program(24, "sparse_embedding.py"),
    "subprocess": program(24, "processes.py", processes=2),
    "threads": program(32, "threads.py"),
    "tied": program(39, "tied.py"),
    "torch_func": program(24, "functional.py", oracle=False),
    "transformers_trainer": program(84, "hf_trainer.py"),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return tmp_path_factory.mktemp("inductor")


@pytest.fixture
def env(tmp_path, compiled):
    """The programs' own output files go into folders of the tests."""
    return {"PYTHONPATH": str(MODERN), "IPYTHONDIR": str(tmp_path / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(tmp_path / "jupyter"), "HF_HOME": str(tmp_path / "hf"),
            "HF_HUB_OFFLINE": "1", "TORCHINDUCTOR_CACHE_DIR": str(compiled)}


def skip_without_compiler(name):
    if name == "compiled_inductor" and not (shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("inductor has no compiler here")


def of_parts(saves):
    """(count, bytes) by which tensor of a wrapper subclass it is: "._local_tensor" of "MmBackward0.self._local_tensor"."""
    sums = collections.Counter()
    for row in saves:
        path = "".join(f".{name}" for name in row["field"].split(".")[2:])
        sums[path, "count"] += row["count"]
        sums[path, "bytes"] += row["logical_bytes"]
    return {key: value for key, value in sums.items() if value}


def of_parts_counted(processes):
    sums = collections.Counter()
    for process in processes:
        for path, (count, size) in process["parts"].items():
            sums[path, "count"] += count
            sums[path, "bytes"] += size
    return {key: value for key, value in sums.items() if value}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FEATURES)
def test_recording_changes_and_loses_nothing_and_counts_every_save(name, target, tmp_path, env):
    skip_without_compiler(name)
    feature = FEATURES[name]
    alone = harness.in_order(lambda: harness.bare(feature.command, env=env))
    assert "parameters " in alone.stdout
    recorded = harness.in_order(lambda: harness.record(feature.command, target, env=env))
    assert recorded.stdout == alone.stdout
    assert harness.unstamped(recorded.stderr) == harness.unstamped(alone.stderr)

    report = harness.report(target)
    assert report["recording"]["complete"]
    forked = {"forked_child": feature.forked} if feature.forked else {}
    assert {loss["kind"]: loss["count"] for loss in harness.lost(report)} == forked
    assert report["saves"]["unattributed"] == 0
    assert len(report["processes"]) >= feature.processes

    if not feature.oracle:
        return
    folder = tmp_path / "oracle"

    def counting():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        return harness.bare(feature.command, env={**env, "ORACLE_SAVES": str(folder)})

    hooked = harness.in_order(counting)
    assert hooked.stdout == alone.stdout, "the oracle itself changed the program"
    counted = [json.loads(path.read_text()) for path in folder.iterdir()]
    assert len(counted) == feature.processes
    assert sum(process["gradients"] for process in counted) == feature.gradients
    saves = [row for row in report["saves"]["by_field"]
             if not feature.fields or row["field"] in feature.fields or " saved_tensors[" in row["field"]]
    for key in ("count",) if feature.strided else ("count", "logical_bytes"):
        assert sum(row[key] for row in saves) == sum(process[key] for process in counted), key
    parts, expected = of_parts(saves), of_parts_counted(counted)
    if feature.strided:
        del parts["", "bytes"], expected["", "bytes"]
    assert parts == expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", FEATURES)
def test_rewritten_it_is_the_same_bit_for_bit_and_every_gradient_was_compared(name, tmp_path, env):
    skip_without_compiler(name)
    feature = FEATURES[name]
    verdict = tmp_path / "verdict.json"
    run = harness.bare([harness.BINARY, "verify", "--apply", "bitwise", "--rewrite-min-bytes", "1KiB", "--format", "json",
                        "-o", verdict, "--", *feature.command], env=env)
    assert run.code in (0, 5), run.stderr
    value = json.loads(verdict.read_text())
    assert harness.nothing_differs(run, value)
    assert value["compared"]["losses"] > 0 and value["compared"]["parameters"] > 0
    assert value["compared"]["gradients"] == feature.gradients + feature.by_closure
