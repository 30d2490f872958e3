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


def run_of(logger, target, tmp_path):
    """A recorded training that logs its memory at its end, and the report of the recording."""
    program = [harness.PYTHON, harness.CASES / "logger_run.py", logger, tmp_path]
    run, report = harness.record_and_report(program, target, env={**ENVIRONMENT, "WANDB_SILENT": "true",
                                                                  "MLFLOW_ALLOW_FILE_STORE": "true"})
    return run, report


def check_figures(run, report, steps, figures):
    """steps: {step: {name: value}} and figures: {name: value}, as the logger has them, against the report."""
    peaks = {step["index"]: step["peak_bytes"] for step in report["steps"]}
    begins = {step["index"]: step["begin_live_bytes"] for step in report["steps"]}
    assert f"logged {len(steps)}" in run.stdout
    assert sorted(steps) == list(range(6))
    for step, values in steps.items():
        assert step == 5 or values["memory/cpu/peak_bytes"] == peaks[step]
        assert step == 5 or values["memory/cpu/growth_bytes"] == begins[step + 1] - begins[step]
    assert figures["memory/run/cpu/peak_bytes"] == report["peak"]["bytes"]
    assert figures["memory/run/cpu/growth_bytes_per_step"] == pytest.approx(1 << 18, rel=0.01)
    assert figures["memory/run/cpu/avoidable_bytes"] == report["peak"]["bytes"] - report["advice"]["peak_after_all_bytes"]
    assert not any("reserved" in name for name in figures), "known of GPUs only"


def test_weights_and_biases_have_every_step_and_the_page(target, tmp_path):
    run, report = run_of("wandb", target, tmp_path)
    rows, defined, figures = [], [], {}
    for record in records_of_wandb(tmp_path):
        if record.WhichOneof("record_type") == "history":
            rows.append({"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item})
        if record.WhichOneof("record_type") == "metric":
            defined.append((record.metric.glob_name or record.metric.name, record.metric.step_metric))
        if record.WhichOneof("record_type") == "summary":
            figures.update({"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.summary.update})
    assert ("memory/*", "memory/step") in defined
    check_figures(run, report, {row["memory/step"]: row for row in rows if "memory/step" in row}, figures)
    assert sum("loss" in row for row in rows) == 5
    (page,) = tmp_path.glob("wandb/offline-run-*/files/media/html/tapelens/report_*.html")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>\n")


def test_mlflow_has_every_step_and_the_page(target, tmp_path):
    run, report = run_of("mlflow", target, tmp_path)
    (metrics,) = tmp_path.glob("mlruns/*/*/metrics")
    steps, figures = {}, {}
    for file in metrics.glob("memory/**/*_*"):
        for _, value, step in map(str.split, file.read_text(encoding="utf-8").splitlines()):
            name = file.relative_to(metrics).as_posix()
            (figures if "/run/" in name else steps.setdefault(int(step), {}))[name] = float(value)
    check_figures(run, report, steps, figures)
    page = metrics.parent / "artifacts/tapelens/report.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>\n")


def test_tensorboard_has_every_step_and_the_page(target, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run, report = run_of("tensorboard", target, tmp_path)
    events = EventAccumulator(str(tmp_path / "run")).Reload()
    steps, figures = {}, {}
    for name in events.Tags()["scalars"]:
        for event in events.Scalars(name):
            (figures if "/run/" in name else steps.setdefault(event.step, {}))[name] = event.value
    check_figures(run, report, steps, figures)
    (text,) = events.Tensors("tapelens/report/text_summary")
    assert b"### Memory: " in text.tensor_proto.string_val[0]
    assert (tmp_path / "run/tapelens.html").read_text(encoding="utf-8").startswith("<!doctype html>\n")


@pytest.mark.parametrize("logger", ["wandb", "mlflow", "tensorboard"])
def test_a_run_that_is_not_recorded_logs_nothing(logger, tmp_path):
    program = [harness.PYTHON, harness.CASES / "logger_run.py", logger, tmp_path]
    run = harness.bare(program, env={**ENVIRONMENT, "WANDB_SILENT": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}, check=True)
    assert "logged 0" in run.stdout
    assert not list(tmp_path.rglob("*.html"))
