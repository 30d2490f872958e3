"""Views of the tables in a folder of Parquet files, for DuckDB and Spark."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Iterable
from typing import Any

from tapelens._errors import UsageError

SCRIPT = "views.sql"
#: DuckDB's variables: the folder that a user sets, and the current directory if the script found its folder there.
FOLDER, HERE = "tapelens_parquet", "tapelens_here"

_TEXT = r"'(?:[^'\n]|'')*'"
_STATEMENT = re.compile(
    rf"SET VARIABLE {HERE} = \(SELECT '\.' FROM read_text\('{re.escape(SCRIPT)}'\) "
    rf"WHERE contains\(replace\(content, '{{6}}, '{{4}}\), {_TEXT}\)\);\n"
    rf"|CREATE OR REPLACE VIEW (?P<name>\w+) AS FROM read_parquet\(\n"
    rf"  coalesce\(getvariable\('{FOLDER}'\), getvariable\('{HERE}'\), {_TEXT}\) \|\| '/(?P=name)/\*\.parquet',\n"
    rf"  union_by_name = true, hive_partitioning = false\);\n")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def script(folder: str | os.PathLike[str], tables: Iterable[str]) -> str:
    """SQL for DuckDB that creates a view of each of these tables of the folder. The views read the folder of the variable
    `tapelens_parquet` if a user sets it, which may be a URL. Else they read the current directory if it has this script,
    and else the absolute path of `folder`."""
    path = _quoted(os.path.abspath(folder))
    # A copy of the folder has the same script, so the path inside recognizes both.
    found = (f"SET VARIABLE {HERE} = (SELECT '.' FROM read_text('{SCRIPT}') "
             f"WHERE contains(replace(content, {_quoted(chr(39) * 2)}, {_quoted(chr(39))}), {path}));\n")
    return found + "".join(f"CREATE OR REPLACE VIEW {name} AS FROM read_parquet(\n"
                           f"  coalesce(getvariable('{FOLDER}'), getvariable('{HERE}'), {path}) || '/{name}/*.parquet',\n"
                           f"  union_by_name = true, hive_partitioning = false);\n" for name in tables)


def is_script(file: pathlib.Path) -> bool:
    """Whether the file has only statements of script()."""
    with file.open(encoding="utf-8", errors="replace") as opened:
        text = opened.read(1 << 20)
        return not _STATEMENT.sub("", text) and not opened.read(1)


def create_views(engine: Any, folder: str | os.PathLike[str]) -> list[str]:
    """Creates a view of each table that `python -m tapelens.parquet` wrote into the folder, and returns the names.
    `engine`: a connection of DuckDB, or a SparkSession. `folder`: a path or a URL that the engine can read. DuckDB's
    connection keeps the folder in its variable `tapelens_parquet`. Spark's views are temporary, and get the
    columns of one file of each table."""
    place = os.fspath(folder).rstrip("/") or "/"
    if hasattr(engine, "createDataFrame"):
        return _create_in_spark(engine, place)
    read = engine.execute(f"SELECT content FROM read_text({_quoted(f'{place}/{SCRIPT}')})").fetchone()
    names = _names(read and read[0], place)
    engine.execute(f"SET VARIABLE {FOLDER} = {_quoted(place)}")
    engine.execute(read[0])
    return names


def _create_in_spark(spark: Any, place: str) -> list[str]:
    first = spark.read.text(f"{place}/{SCRIPT}", wholetext=True).first()
    names = _names(first and first[0], place)
    for name in names:
        spark.read.parquet(f"{place}/{name}").createOrReplaceTempView(name)
    return names


def _names(text: str | None, place: str) -> list[str]:
    if text is None or _STATEMENT.sub("", text):
        raise UsageError(f"{place}: has no {SCRIPT} of `python -m tapelens.parquet`")
    return [one["name"] for one in _STATEMENT.finditer(text) if one["name"]]
