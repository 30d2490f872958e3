"""`import tapelens`: tables agree with the report in every reader; Parquet and the queries of docs/queries.md."""

import decimal
import gc
import json
import os
import re
import shutil
import subprocess
import sys

import duckdb
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

import harness
from python_package import ENVIRONMENT

import tapelens
import tapelens.parquet

QUERIES = harness.ROOT / "docs/queries.md"
PAGE = harness.ROOT / "docs/python.md"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    target = tmp_path_factory.mktemp("recorded") / "gpt.tapelens"
    run = harness.record([harness.PYTHON, harness.SAMPLES / "gpt.py", "--size", "small", "--steps", "3"], target)
    assert run.code == 0, run.stderr
    return target


@pytest.fixture(scope="module")
def report(file):
    return harness.report(file)


@pytest.fixture(scope="module")
def run(file):
    return tapelens.open(file)


def total(table, column):
    return sum(row[column] for row in table.to_arrow().to_pylist())


def test_the_peak_is_the_reports(run, report):
    peak = run.peak.to_arrow().to_pylist()
    assert sum(row["bytes"] for row in peak) == report["peak"]["bytes"]
    assert len(peak) == report["peak"]["live_allocations"]
    by_category = {}
    for row in peak:
        by_category[row["category"]] = by_category.get(row["category"], 0) + row["bytes"]
    assert by_category == {one["name"]: one["bytes"] for one in report["peak"]["by_category"]}
    listed = {one["id"]: one for one in report["peak"]["allocations"]}
    for row in peak:
        one = listed[row["allocation"]]
        assert (row["bytes"], row["time_ns"], row["step"]) == (one["bytes"], one["time_ns"], one["step"])
        assert (row["operator_name"] or "", row["module"] or "", row["layout"] or "") == (
            one["operator"], one["module"], one["layout"])


def test_holders_are_the_reports(run, report):
    held = {}
    for row in run.peak_holders.rows():
        held.setdefault(row["allocation"], []).append((row["kind"], row["node_type"] or "", row["field"] or "", row["name"] or ""))
    for one in report["peak"]["allocations"]:
        assert held[one["id"]] == [(h["kind"], h["node"], h["field"], h["name"]) for h in one["holders"]]


def test_saves_are_the_reports(run, report):
    saves = [row for row in run.saves.rows() if not row["is_wrapped_number"]]
    said = report["saves"]
    assert len(saves) == said["count"] > 0
    assert sum(row["logical_bytes"] for row in saves) == said["logical_bytes"]
    storages = {row["allocation"]: row["storage_bytes"] for row in saves if row["allocation"] and not row["is_packed"]}
    assert sum(storages.values()) == said["storage_bytes"]


def test_steps_and_devices_are_the_reports(run, report):
    assert [(row["step"], row["begin_ns"], row["end_ns"], row["peak_bytes"], row["allocations"]) for row in run.steps.rows()] == [
        (one["index"], one["begin_ns"], one["end_ns"], one["peak_bytes"], one["allocations"]) for one in report["steps"]]
    (device,) = run.devices.rows()
    (said,) = report["processes"][0]["devices"]
    assert {key: device[key] for key in said} == said


def test_findings_are_those_of_advise(run, file):
    said = harness.advise(file)["findings"]
    assert said
    assert [(row["finding"], row["check"], row["bytes"], row["peak_after_bytes"], row["patch"] or "") for row in run.findings.rows()] == [
        (one["id"], one["check"], one["bytes"], one["peak_after_bytes"], one["fix"]["patch"]) for one in said]


def test_the_curve_is_the_allocations(run):
    events = list(run.timeline.rows())
    live = peak = 0
    for event in events:
        live += event["change_bytes"]
        assert live == event["live_bytes"]
        peak = max(peak, live)
    assert peak == total(run.peak, "bytes")
    assert len(events) == sum(1 + (row["freed_ns"] is not None) for row in run.allocations.rows() if not row["is_foreign"])


def test_ids_name_rows(run):
    operators = {row["operator"]: row["name"] for row in run.operators.rows()}
    frames = {row["frame"]: row for row in run.frames.rows()}
    nodes = {row["node"]: row for row in run.nodes.rows()}
    for node in nodes.values():
        assert node["operator_name"] == (operators[node["operator"]] if node["operator"] else None)
    assert all(edge["node"] in nodes and edge["next_node"] in {0, *nodes} for edge in run.edges.rows())
    for row in run.peak.rows():
        if row["source"]:
            frame = frames[row["frame"]]
            assert row["source"] == f"{os.path.basename(frame['file'])}:{frame['line']} {frame['function']}"
    depths = {}
    for row in run.stacks.rows():
        assert row["depth"] == depths.get(row["stack"], 0)
        depths[row["stack"]] = row["depth"] + 1


@pytest.mark.parametrize("name", ["processes", "devices", "allocations", "saves", "operators", "nodes", "peak", "findings",
                                  "frames", "out_of_memory"])
def test_every_reader_reads_the_same(run, name):
    read = run.tables[name]
    own = list(read.rows())
    assert len(read) == len(own)
    by_arrow = pyarrow.table(read)
    by_arrow.validate(full=True)
    assert by_arrow.column_names == read.column_names
    assert by_arrow.to_pylist() == own
    assert polars.DataFrame(read).to_dicts() == own
    by_pandas = pandas.DataFrame.from_arrow(read)
    assert list(by_pandas.columns) == read.column_names and len(by_pandas) == len(own)
    [(counted,)] = duckdb.sql("SELECT count(*) FROM read").fetchall()
    assert counted == len(own)
    by_duckdb = duckdb.sql("FROM read").fetchall()
    assert by_duckdb == [tuple(row.values()) for row in own]


def test_a_selection_makes_its_columns_alone(run):
    few = run.allocations.select("bytes", "device")
    assert pyarrow.table(few).column_names == few.column_names == ["bytes", "device"]
    assert few.schema == {"bytes": "int64", "device": "dictionary"}
    with pytest.raises(tapelens.UsageError, match="the table allocations has no column colour: it has process, "):
        run.allocations.select("colour")


def test_columns_that_the_analysis_has_are_not_copied(run):
    """Two streams of one process give the same memory."""
    def address():
        return [chunk.buffers()[1].address for chunk in pyarrow.table(run.allocations.select("bytes")).column(0).chunks]

    first = pyarrow.table(run.allocations.select("bytes"))
    assert [chunk.buffers()[1].address for chunk in first.column(0).chunks] == address()


def test_data_outlives_the_recording(file):
    recording = tapelens.open(file)
    table = pyarrow.table(recording.saves)
    capsule = recording.saves.__arrow_c_stream__()
    recording.close()
    assert table.num_rows == pyarrow.RecordBatchReader._import_from_c_capsule(capsule).read_all().num_rows
    with pytest.raises(tapelens.Error, match="the recording was closed"):
        pyarrow.table(recording.saves)
    assert tapelens.open(file).saves.to_arrow().num_rows == table.num_rows  # a table keeps its recording
    del recording, capsule
    gc.collect()


def test_a_process_has_its_own_rows(run, report):
    (process,) = run.processes
    assert (process.pid, process.finished, process.exit_code) == (report["processes"][0]["pid"], True, 0)
    assert process.saves.to_arrow() == run.saves.to_arrow()
    (peak,) = process.peaks_between(0, run.duration_ns, by="category", top=100)
    assert peak.peak_bytes == report["peak"]["bytes"] and peak.peak_time_ns == report["peak"]["time_ns"]
    assert sum(group.bytes for group in peak.groups) == peak.peak_bytes


def test_reports_are_those_of_the_command_line(run, file):
    said = harness.bare([harness.BINARY, "report", file, "--top", "3", "--by", "source"]).stdout
    assert run.report(by="source", top=3).replace(str(file), file.name) == said.replace(str(file), file.name)
    assert "<html" in run.report("html")
    assert json.loads(run.report("json"))["peak"]["bytes"] > 0


@pytest.mark.parametrize("command", ["report", "advise"])
def test_a_short_document_has_the_begin_of_each_list(command, file):
    read = {"report": harness.report, "advise": harness.advise}[command]
    limit = ["--max-bytes", "12000"]
    whole, short = read(file), read(file, limit)
    size = len(harness.bare([harness.BINARY, command, file, "--format", "json", *limit], check=True).stdout.encode())
    assert 6000 < size <= 12000
    assert sum(one["count"] for one in short["left_out"]) > 0
    assert short["advice"]["peak_before_bytes"] == whole["advice"]["peak_before_bytes"]
    if command == "report":
        kept = short["peak"]["allocations"]
        assert [one["id"] for one in kept] == [one["id"] for one in whole["peak"]["allocations"][:len(kept)]]
        (cut,) = [one["count"] for one in short["left_out"] if one["list"] == "/peak/allocations"]
        assert cut + len(kept) == len(whole["peak"]["allocations"])


def test_notebooks_show_the_page_and_first_rows(file):
    run = tapelens.open(file)
    frame = run._repr_html_()
    assert frame.startswith("<div><iframe sandbox=") and "gpt.py" in frame and "<script>" not in frame
    steps, saves = run.steps._repr_html_(), run.saves.select("save", "node_type")._repr_html_()
    assert "<caption>steps: 3 rows</caption>" in steps and steps.count("<tr>") == 4
    assert f"<caption>saves: the first 20 of {len(run.saves):,} rows</caption>" in saves and saves.count("<tr>") == 21
    assert "<th>save</th><th>node_type</th>" in saves
    run.close()
    assert run._repr_html_() is None and run.steps._repr_html_() is None and "Recording" in repr(run)


def test_what_cannot_be_read_is_said(file, tmp_path):
    damaged = tmp_path / "damaged.tapelens"
    damaged.write_bytes(file.read_bytes()[:-100])
    for path in (damaged, tmp_path / "nothing.tapelens", tmp_path, __file__):
        with pytest.raises(tapelens.Error) as raised:
            tapelens.open(path)
        assert str(path) in str(raised.value)
        done = harness.bare([harness.BINARY, "report", path])
        assert done.code == 3 and str(raised.value) in done.stderr
    with pytest.raises(tapelens.UsageError, match="unknown report format 'papyrus'"):
        tapelens.open(file).report("papyrus")


def test_it_needs_no_other_package(file):
    program = ("import sys, tapelens\nrun = tapelens.open(sys.argv[1])\n"
               "print(sum(row['bytes'] for row in run.peak.rows()), run.steps.column_names, 'torch' in sys.modules)")
    done = harness.bare([sys.executable, "-S", "-c", program, file], env=ENVIRONMENT, check=True)
    assert done.stdout.startswith(f"{total(tapelens.open(file).peak, 'bytes')} ['process', 'device', 'step'")
    assert done.stdout.endswith("False\n")


def test_the_page_lists_every_table_and_column(run):
    text = PAGE.read_text(encoding="utf-8")
    listed = {name: re.findall(r"`(\w+)`", columns) for name, columns in re.findall(r"^\| `(\w+)` \| [^|]* \| (.*) \|$", text, re.M)}
    assert listed == {name: table.column_names for name, table in run.tables.items()}


# ---- Parquet


@pytest.fixture(scope="module")
def parquet(file, tmp_path_factory):
    """Two runs in one folder, one written by each library."""
    folder = tmp_path_factory.mktemp("parquet") / "it's all"
    other = file.with_name("finetune.tapelens")
    run = harness.record([harness.PYTHON, harness.SAMPLES / "resnet_finetune.py", "--size", "small", "--steps", "3"], other)
    assert run.code == 0, run.stderr
    done = harness.bare([sys.executable, "-m", "tapelens.parquet", file, "-o", folder], env=ENVIRONMENT)
    assert done.code == 0, done.stderr
    assert f"Next: duckdb -init {folder}/views.sql" in done.stdout
    without = "import sys; sys.modules['pyarrow'] = None; from tapelens.parquet import _main; sys.exit(_main())"
    done = harness.bare([sys.executable, "-c", without, other, "-o", folder], env=ENVIRONMENT)
    assert done.code == 0, done.stderr
    return folder


@pytest.fixture
def database(parquet):
    connection = duckdb.connect()
    connection.execute((parquet / "views.sql").read_text(encoding="utf-8"))
    return connection


def queries():
    return [(title, sql) for title, sql in re.findall(r"^## (\d+\. .*?)\n```sql\n(.*?);\n```", QUERIES.read_text(encoding="utf-8"), re.M | re.S)]


def test_parquet_has_the_rows_of_the_tables(run, database):
    for name, table in run.tables.items():
        [(rows,)] = database.sql(f"SELECT count(*) FROM {name} WHERE run = 'gpt'").fetchall()
        assert rows == len(table), name
    assert database.sql("SELECT * FROM saves WHERE run = 'gpt' ORDER BY save").fetchall() == [
        ("gpt", *row.values()) for row in run.saves.rows()]


def counted(folder, *, script, first="SELECT 1"):
    """The saves of each run, by a DuckDB that is started in the folder."""
    program = ("import duckdb, pathlib, sys\nconnection = duckdb.connect()\nconnection.execute(sys.argv[2])\n"
               "connection.execute(pathlib.Path(sys.argv[1]).read_text())\n"
               "print(connection.sql('SELECT run, count(*) FROM saves GROUP BY run ORDER BY run').fetchall())")
    return harness.bare([sys.executable, "-c", program, script, first], cwd=folder)


def test_views_work_in_any_current_directory_and_after_a_move(parquet, tmp_path):
    usual = counted(parquet, script="views.sql")
    assert usual.code == 0 and "gpt" in usual.stdout, usual
    assert counted(tmp_path, script=parquet / "views.sql") == usual
    moved = tmp_path / "moved's"
    shutil.copytree(parquet, moved)
    (moved / "saves/saves-gpt.parquet").unlink()
    assert "gpt" not in counted(moved, script="views.sql").stdout, "a copy reads itself"
    variable = f"SET VARIABLE tapelens_parquet = '{str(moved).replace(chr(39), chr(39) * 2)}'"
    assert counted(parquet, script=parquet / "views.sql", first=variable) == counted(moved, script="views.sql")


def test_views_are_created_through_the_package(parquet, tmp_path):
    with duckdb.connect() as connection:
        assert "saves" in tapelens.parquet.create_views(connection, parquet)
        assert len(connection.sql(queries()[0][1]).fetchall()) == 2
        (tmp_path / "views.sql").write_text("DROP TABLE mine;\n")
        for other in (tmp_path, tmp_path / "nothing"):
            with pytest.raises(tapelens.UsageError, match="has no views.sql of `python -m tapelens.parquet`"):
                tapelens.parquet.create_views(connection, other)


def test_views_are_those_of_the_written_tables(file, tmp_path):
    tapelens.parquet.to_parquet(file, tmp_path, run="007/a", tables=["saves", "frames"])
    tapelens.parquet.to_parquet(file, tmp_path, run="2026-11-28", tables=["peak"])
    with duckdb.connect() as connection:
        assert sorted(tapelens.parquet.create_views(connection, tmp_path)) == ["frames", "peak", "saves"]
        assert connection.sql("SELECT DISTINCT run FROM saves UNION SELECT run FROM peak ORDER BY run").fetchall() == [
            ("007/a",), ("2026-11-28",)]


def test_all_processes_of_a_run_are_in_one_file(tmp_path):
    both = tmp_path / "both.tapelens"
    run = harness.record(["sh", "-c", '"$0" && "$0"', harness.TRAINER], both)
    assert run.code == 0, run.stderr
    recording = tapelens.open(both)
    assert len(recording.processes) >= 2
    tapelens.parquet.to_parquet(recording, tmp_path)
    for name, table in recording.tables.items():
        assert pyarrow.parquet.read_table(tmp_path / f"{name}/{name}-both.parquet").to_pylist() == [
            {"run": "both", **row} for row in table.rows()], name


def test_queries_have_only_sql_that_spark_takes():
    for title, sql in queries():
        assert '"' not in sql and "`" not in sql, f"{title}: engines quote names with different signs"
        assert not re.search(r"FILTER \((?!WHERE )", sql), title


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    session = (sql.SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
               .config("spark.sql.shuffle.partitions", "1").getOrCreate())
    yield session
    session.stop()


def test_spark_has_the_rows_of_duckdb(spark, parquet, database):
    assert "saves" in tapelens.parquet.create_views(spark, parquet)

    def comparable(rows):
        return sorted(json.dumps([float(f"{value:.12g}") if isinstance(value, (int, float, decimal.Decimal)) else value
                                  for value in row]) for row in rows)

    assert spark.table("saves").columns == [name for name, *_ in database.sql("DESCRIBE saves").fetchall()]
    for title, sql in queries():
        found = spark.sql(sql)
        wanted = database.sql(sql)
        assert found.columns == wanted.columns, title
        assert comparable(found.collect()) == comparable(wanted.fetchall()), title


@pytest.mark.parametrize("number", range(10), ids=lambda number: str(number + 1))
def test_queries_run_and_their_totals_are_the_reports(number, database, file, report):
    assert len(queries()) == 10
    title, sql = queries()[number]
    found = database.sql(sql)
    rows = [dict(zip(found.columns, row)) for row in found.fetchall()]
    own = [row for row in rows if row.get("run", "gpt") == "gpt"]
    reports = [report, harness.report(file.with_name("finetune.tapelens"))]
    peak = sum(one["peak"]["bytes"] for one in reports)
    if number == 0:
        assert [row["peak_bytes"] for row in own] == [report["peak"]["bytes"]]
        assert [row["pid"] for row in own] == [report["peak"]["process"]]
    elif number == 1:
        assert {row["category"]: row["bytes"] for row in own} == {one["name"]: one["bytes"] for one in report["peak"]["by_category"]}
        assert abs(sum(row["percent"] for row in own) - 100) < 1
    elif number == 2:
        assert sum(row["bytes"] for row in rows) == sum(
            one["bytes"] for each in reports for one in each["peak"]["by_category"] if one["name"] == "saved")
    elif number == 3:
        assert 0 < sum(row["bytes"] for row in rows) <= peak  # allocations without a stack belong to no line
    elif number == 4:
        assert sum(row["bytes"] for row in rows) == peak
    elif number == 5:
        beside = abs(reports[0]["peak"]["bytes"] - reports[1]["peak"]["bytes"]) / 2  # two runs: the median is between them
        assert [abs(row["beside_the_median"]) for row in rows] == [beside, beside] and beside > 0
    elif number == 6:
        assert {row["finding"] for row in rows} == {
            one["id"] for name in ("gpt", "finetune") for one in harness.advise(file.with_name(f"{name}.tapelens"))["findings"]}
    elif number == 7:
        assert own and own[0]["steps"] > 0
    elif number == 8:
        assert sum(row["saves"] for row in rows) == sum(one["saves"]["count"] for one in reports)
        said = {}
        for one in reports:
            for field in one["saves"]["by_field"]:
                said[field["field"]] = said.get(field["field"], 0) + field["storage_bytes"]
        assert {row["field"]: row["storage_bytes"] for row in rows} == said
    else:
        assert rows and all(row["change"] == row["after"] - row["before"] for row in rows)


def test_the_command_exports_the_same(file, run, tmp_path):
    options = [harness.BINARY, "export", file, "--format", "parquet", "--python", harness.PYTHON]
    done = harness.bare(options, env=ENVIRONMENT, cwd=tmp_path)
    assert done.code == 0, done.stderr
    saves = pyarrow.parquet.read_table(tmp_path / "gpt.parquet/saves/saves-gpt.parquet")
    assert saves.to_pylist() == [{"run": "gpt", **row} for row in run.saves.rows()]
    without = harness.bare(options, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
    assert without.code == 3 and "pip install 'tapelens[parquet]'" in without.stderr


def test_without_a_writer_it_says_what_to_install(file, tmp_path):
    done = harness.bare([sys.executable, "-S", "-m", "tapelens.parquet", file, "-o", tmp_path / "parquet"], env=ENVIRONMENT)
    assert done.code == 2
    assert "Parquet is written by pyarrow or duckdb" in done.stderr and "-m pip install pyarrow" in done.stderr
    assert not (tmp_path / "parquet").exists()
    assert subprocess.run([sys.executable, "-m", "tapelens.parquet", "-o", tmp_path, __file__], capture_output=True,
                          env=harness.environment(ENVIRONMENT), check=False).returncode == 3


def test_files_of_others_in_the_folder_stay(file, tmp_path):
    ours = tmp_path / "saves/saves-gpt.parquet"
    write = [sys.executable, "-m", "tapelens.parquet", file, "-o", tmp_path]
    for theirs, text in ((ours, b"PAR1 mine"), (tmp_path / "views.sql", b"CREATE OR REPLACE VIEW mine AS SELECT 1;\n")):
        theirs.parent.mkdir(parents=True, exist_ok=True)
        theirs.write_bytes(text)
        theirs.chmod(0o600)  # a replacing file keeps this mode
        refused = harness.bare(write, env=ENVIRONMENT)
        assert refused.code == 2 and f"{theirs}: exists, and is not a Tapelens " in refused.stderr, refused
        assert theirs.read_bytes() == text
        assert harness.bare([*write, "--force"], env=ENVIRONMENT).code == 0
        assert harness.bare(write, env=ENVIRONMENT).code == 0, "its own are replaced"
        assert theirs.read_bytes() != text
    assert {path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_file()} == {file.stat().st_mode & 0o777}
    assert pyarrow.parquet.read_table(ours).schema.metadata == {b"tapelens.table": b"saves"}
