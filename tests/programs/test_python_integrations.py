"""Notebooks and trainers: the output of `%%tapelens`, and the regions and logs of callbacks."""

import csv
import json
import struct

import pytest

import harness
from python_package import ENVIRONMENT

NOTEBOOK = [harness.PYTHON, harness.CASES / "notebook.py"]


@pytest.fixture
def environment(tmp_path):
    return {**ENVIRONMENT, "IPYTHONDIR": str(tmp_path / "ipython")}


def test_a_cell_of_a_kernel_that_is_not_recorded_runs_by_itself(environment):
    run = harness.bare(NOTEBOOK, env=environment, check=True)
    assert "in the cell False" in run.stdout
    assert "the cell ran in a process of its own, without the notebook's variables" in run.stdout
    assert "page True True True True" in run.stdout


def test_a_cell_of_a_recorded_kernel_runs_in_it(target, environment):
    run = harness.record(NOTEBOOK, target, env=environment)
    assert run.code == 0, run.stderr
    assert "in the cell True" in run.stdout
    assert "tapelens: the cell took 4.0 MiB on cpu, 0 B were alive when it began" in run.stdout
    assert "page True True True" in run.stdout
    assert harness.report(target)["peak"]["bytes"] >= 4 << 20


def steps_of(report):
    return {step["index"]: step["peak_bytes"] for step in report["steps"]}


def of_lightning(target, tmp_path):
    program = [harness.PYTHON, harness.CASES / "lightning_callback.py"]
    run, report = harness.record_and_report([*program, tmp_path / "recorded"], target, env=ENVIRONMENT)
    names = [one["name"] for one in report["ranges"] if not one["name"].startswith(("[pl]", "Optimizer", "enumerate"))]
    assert [name for name in names if name in ("sanity check", "validation", "epoch 0", "epoch 1")] == [
        "sanity check", "epoch 0", "validation", "epoch 1", "validation"]
    rows = list(csv.DictReader((tmp_path / "recorded/metrics.csv").open()))
    peaks = {int(row["step"]): int(float(row["memory/cpu/peak_bytes"])) for row in rows if row["memory/cpu/peak_bytes"]}
    assert {step: peak for step, peak in peaks.items() if step < 6} == {
        step: peak for step, peak in steps_of(report).items() if step < 6}
    assert all(0 <= float(row["memory/cpu/saved_at_peak_bytes"]) <= float(row["memory/cpu/peak_bytes"]) for row in rows)
    bare = harness.bare([*program, tmp_path / "bare"], env=ENVIRONMENT, check=True)
    assert bare.stdout == run.stdout
    assert not list((tmp_path / "bare").glob("*.csv")), "nothing is logged where nothing is recorded"


def of_transformers(target, tmp_path):
    program = [harness.PYTHON, harness.CASES / "transformers_callback.py", tmp_path / "run"]
    run, report = harness.record_and_report(program, target, env=ENVIRONMENT)
    names = [one["name"] for one in report["ranges"] if one["name"].startswith(("epoch", "evaluation"))]
    assert names == ["epoch 0", "evaluation", "epoch 1", "evaluation"]
    (line,) = [line for line in run.stdout.splitlines() if line.startswith("figures ")]
    figures = {entry["step"] - 1: entry["memory/cpu/peak_bytes"] for entry in json.loads(line.removeprefix("figures "))}
    assert {step: peak for step, peak in figures.items() if step < 6} == {
        step: peak for step, peak in steps_of(report).items() if step < 6}
    bare = harness.bare(program, env=ENVIRONMENT, check=True)
    assert "figures []" in bare.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("callback", [of_lightning, of_transformers])
def test_callbacks(callback, target, tmp_path):
    callback(target, tmp_path)


def records_of_wandb(folder):
    """Records of an offline run of Weights & Biases: a LevelDB log of protocol buffers."""
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.glob("wandb/offline-run-*/*.wandb")
    data, at, whole = path.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:  # no header fits into the rest of a block
            at += 32768 - at % 32768
            continue
        _, size, kind = struct.unpack_from("<IHB", data, at)
        if kind == 0:
            return
        whole += data[at + 7 : at + 7 + size]
        at += 7 + size
        if kind in (1, 4):  # the whole record, or its last part
            record = wandb_internal_pb2.Record()
            record.ParseFromString(whole)
            whole = b""
            yield record


def test_weights_and_biases_have_every_step(target, tmp_path):
    program = [harness.PYTHON, harness.CASES / "wandb_run.py", tmp_path]
    run, report = harness.record_and_report(program, target, env={**ENVIRONMENT, "WANDB_SILENT": "true"})
    rows, defined = [], []
    for record in records_of_wandb(tmp_path):
        if record.WhichOneof("record_type") == "history":
            rows.append({"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item})
        if record.WhichOneof("record_type") == "metric":
            defined.append((record.metric.glob_name or record.metric.name, record.metric.step_metric))
    assert ("memory/*", "memory/step") in defined
    figures = {row["memory/step"]: row["memory/cpu/peak_bytes"] for row in rows if "memory/step" in row}
    whole = {step: peak for step, peak in steps_of(report).items() if step in figures}
    assert len(figures) >= 5 and figures == pytest.approx(whole)
    assert sum("loss" in row for row in rows) == 5
    assert f"logged {len(figures)}" in run.stdout
