"""`tapelens advise` on a real recording: the same findings in every run, SARIF that follows the official schema, and
plans."""

import json

import jsonschema
import pytest

import harness
import schemas

# Frozen layers, whose inputs are saved but never read.
SAMPLE = harness.SAMPLES / "resnet_finetune.py"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two recordings of one program."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("one", "two"):
        run = harness.record([harness.PYTHON, SAMPLE], folder / name)
        assert run.code == 0, run.stderr
    return folder / "one", folder / "two"


@pytest.fixture(scope="module")
def sarif_schema():
    """The OASIS schema."""
    schema = schemas.of(schemas.SARIF)
    assert "oasis-tcs/sarif-spec" in schema["$id"]
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema, format_checker=kind.FORMAT_CHECKER)


def sarif(target, *options, cwd=harness.ROOT):
    done = harness.bare([harness.BINARY, "advise", target, "--format", "sarif", *options], cwd=cwd)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)


def what_is_the_same(value):
    return [{key: f[key] for key in ("id", "check", "severity", "bytes", "occurrences", "sites", "node", "field", "operator",
                                     "module", "source", "steps", "peak_before_bytes", "peak_after_bytes")}
            for f in value["findings"]]


def test_two_runs_of_a_program_have_the_same_findings(runs):
    one, two = map(harness.advise, runs)
    assert one["findings"], "the sample shows nothing: this test proves nothing"
    assert what_is_the_same(one) == what_is_the_same(two)
    ids = [f["id"] for f in one["findings"]]
    assert len(set(ids)) == len(ids)


def test_a_report_has_the_findings_of_advise_and_its_peak(runs):
    report, advice = harness.report(runs[0]), harness.advise(runs[0])
    assert report["findings"] == advice["findings"]
    assert report["advice"] == advice["advice"]
    assert report["advice"]["peak_before_bytes"] == report["peak"]["bytes"]


def test_every_check_runs(runs):
    advice = harness.advise(runs[0])["advice"]
    assert advice["refused"] == []
    assert advice["checks"] == sorted(p.parent.name for p in (harness.ROOT / "plugins").glob("*/check.cpp"))


def test_entries_are_in_the_order_in_which_to_do_them(runs):
    kinds = ["error", "code", "consider", "automatic", "trade"]
    value = harness.advise(runs[0])
    advice, entries = value["advice"], value["advice"]["entries"]
    assert [f["id"] for f in value["findings"]] == [finding for entry in entries for finding in entry["findings"]]
    assert [entry["kind"] for entry in entries] == sorted((entry["kind"] for entry in entries), key=kinds.index)
    assert sum(entry["kind"] == "automatic" for entry in entries) == 1
    peak = advice["peak_before_bytes"]
    for entry in (entry for entry in entries if entry["kind"] != "trade"):
        assert entry["peak_before_bytes"] == peak
        peak = entry["peak_after_bytes"]
    assert peak == advice["peak_after_all_bytes"]
    assert all(finding["peak_after_bytes"] >= peak for finding in value["findings"] if not finding["alternative"])


def test_what_is_left_adds_up_to_the_peak(runs):
    advice = harness.advise(runs[0])["advice"]
    left = advice["peak_after_all_by_category"]
    assert [one["bytes"] for one in left] == sorted((one["bytes"] for one in left), reverse=True)
    # No category has the replacements of fixed tensors (masks, recomputed tensors).
    assert 0.9 * advice["peak_after_all_bytes"] < sum(one["bytes"] for one in left) <= advice["peak_after_all_bytes"]


def test_sarif_follows_the_official_schema_and_its_places_are_files_of_the_repository(runs, sarif_schema):
    log = sarif(runs[0])
    sarif_schema.validate(log)
    (run,) = log["runs"]
    findings = harness.advise(runs[0])["findings"]
    assert [r["partialFingerprints"]["primaryLocationLineHash"] for r in run["results"]] == [
        f["id"] + ":1" for f in findings]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        (place,) = result["locations"]
        file = place["physicalLocation"]["artifactLocation"]
        assert file["uriBaseId"] == "%SRCROOT%"
        lines = (harness.ROOT / file["uri"]).read_text().splitlines()
        assert 1 <= place["physicalLocation"]["region"]["startLine"] <= len(lines)
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for rule in rules:
        assert rule["help"]["text"] and rule["help"]["markdown"].startswith("# " + rule["id"])


def test_sarif_of_another_repository_has_no_results_and_says_the_findings_all_the_same(runs, sarif_schema, tmp_path):
    log = sarif(runs[0], cwd=tmp_path)
    sarif_schema.validate(log)
    (run,) = log["runs"]
    assert run["results"] == []
    said = run["invocations"][0]["toolExecutionNotifications"]
    assert len(said) == len(harness.advise(runs[0])["findings"])


def test_the_golden_sarif_follows_the_official_schema_and_a_broken_one_does_not(sarif_schema):
    log = json.loads((harness.ROOT / "tests/golden/advise.sarif").read_text())
    sarif_schema.validate(log)
    log["runs"][0]["results"][0]["level"] = "grave"
    with pytest.raises(jsonschema.ValidationError):
        sarif_schema.validate(log)


def test_a_plan_names_what_a_rewrite_fixes(runs, tmp_path):
    plan = tmp_path / "plan.json"
    value = harness.advise(runs[0], ["--write-plan", plan])
    written = json.loads(plan.read_text())
    assert written["tapelens_plan"] == 2
    assert written["torch"] == value["recording"]["torch_version"]
    fixed = [f for f in value["findings"] if f["fix"]["kind"] == "rewrite"]
    assert [s["finding"] for s in written["sites"]] == [f["id"] for f in fixed]
    for site, finding in zip(written["sites"], fixed):
        assert site["rewrite"] == finding["fix"]["rewrite"] != ""
        assert site["enabled"] is True
