"""The tables of needs: a part that is made again equals the committed part, and the experiment detects a wrong row."""

import json
import os
import re
import subprocess
import sys

import pytest
import torch

import harness

TOOL = harness.ROOT / "tools/needs/needs.py"
MINOR = ".".join(torch.__version__.split(".")[:2])
TABLE = harness.ROOT / f"plugins/unneeded-save/needs-{MINOR}.json"
OPERATORS = "nn.functional.batch_norm,nn.functional.conv2d,nn.functional.max_pool2d,nn.functional.layer_norm,nn.functional.relu,gather"


def needs(*arguments):
    return subprocess.run([sys.executable, str(TOOL), *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}, check=False)


def by_field(table):
    """(node, field, wanted) -> all its needs. With fewer operators fewer samples make such nodes, and a field that
    depends on the values in all of them may be needed in every one of these."""
    found = {}
    for row in table["rows"]:
        need = {"depends": "needed"}.get(row["need"], row["need"])
        found.setdefault((row["node"], row["field"], str(row["wanted"])), set()).add(need)
    return found


def test_a_part_made_again_is_what_is_committed(tmp_path):
    made = tmp_path / TABLE.name
    run = needs(made, "--only", OPERATORS)
    assert run.returncode == 0, run.stderr
    again, committed = (by_field(json.loads(path.read_text(encoding="utf-8"))) for path in (made, TABLE))
    assert {node for node, _, _ in again} >= {"NativeBatchNormBackward0", "ConvolutionBackward0", "GatherBackward0",
                                              "MaxPool2DWithIndicesBackward0", "NativeLayerNormBackward0", "ReluBackward0"}
    assert again == {key: committed.get(key) for key in again}


def test_a_wrong_row_is_contradicted(tmp_path):
    """Changes a row so that no gradient needs the result of a ReLU."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    row = next(row for row in table["rows"] if row["node"] == "ReluBackward0")
    assert row["need"] == "needed"
    row["need"] = "never"
    wrong = tmp_path / TABLE.name
    wrong.write_text(json.dumps(table), encoding="utf-8")
    run = needs("--check", wrong, "--only", "nn.functional.relu", "--samples", 4)
    assert run.returncode == 1, run.stderr
    assert "ReluBackward0.result" in run.stdout and "1 rows contradicted" in run.stdout
    assert needs("--check", TABLE, "--only", "nn.functional.relu", "--samples", 4).returncode == 0


TABLES = {path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(TABLE.parent.glob("needs-*.json"))}


@pytest.mark.parametrize("path", [path for path in TABLES if "between" not in TABLES[path]], ids=lambda path: path.stem)
def test_what_the_tables_say_of_themselves(path):
    table = TABLES[path]
    rows, counts = table["rows"], table["counts"]
    never = [row for row in rows if row["need"] == "never"]
    assert (counts["rows"], counts["never_rows"]) == (len(rows), len(never))
    assert counts["covered"] >= 0.98 * counts["operators"]
    assert len(never) >= 126 and len({row["node"] for row in never}) >= 56
    assert all(row["samples"] >= 8 for row in never)
    # The attributes that a row depends on are recorded.
    for row in never:
        assert set(row["when"]) <= set(table["attributes"].get(row["node"], ())), row
    # Each row has one line.
    assert len(re.findall(r'^    {"node": ', path.read_text(encoding="utf-8"), re.M)) == len(rows)


@pytest.mark.parametrize("path", [path for path in TABLES if "between" in TABLES[path]], ids=lambda path: path.stem)
def test_the_table_of_a_minor_between_two_is_what_both_say(path, tmp_path):
    table = TABLES[path]
    both = [one for torch_version in table["between"] for one in TABLES if TABLES[one]["torch"] == torch_version]
    assert len(both) == 2
    again = tmp_path / path.name
    subprocess.run([sys.executable, TOOL.parent / "between.py", *both, table["torch"], again], check=True, capture_output=True)
    assert again.read_text(encoding="utf-8") == path.read_text(encoding="utf-8")

    def never(one):
        return {json.dumps([row["node"], row["field"], row["wanted"], row["when"]], sort_keys=True)
                for row in one["rows"] if row["need"] == "never"}

    rows = never(table)
    assert len(rows) == len(table["rows"]) >= 126
    assert rows == never(TABLES[both[0]]) & never(TABLES[both[1]])
