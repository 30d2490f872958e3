"""Recordings as Parquet files, for engines that query many of them at once:

    python -m tapelens.parquet run.tapelens -o parquet

writes `parquet/run=run/process=0/saves.parquet` and so on, and `parquet/views.sql`, which makes a view of each table.
docs/queries.md shows what to ask them.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import re
import struct
import sys
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Protocol

from tapelens import _files
from tapelens._errors import Error, UsageError
from tapelens._recording import Recording, Table, open

SUFFIX = ".parquet"
MARK = "tapelens.table"  # in the metadata of each file, with the name of its table: which may be replaced


class _Writer(Protocol):
    def __call__(self, table: Table, file: pathlib.Path) -> None: ...


def _by_pyarrow() -> _Writer:
    import pyarrow
    import pyarrow.parquet

    def write(table: Table, file: pathlib.Path) -> None:
        reader = pyarrow.RecordBatchReader.from_stream(table)
        schema = reader.schema.with_metadata({**(reader.schema.metadata or {}), MARK: table.name})
        with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)

    return write


def _by_duckdb() -> _Writer:
    import duckdb

    def write(table: Table, file: pathlib.Path) -> None:
        quoted = str(file).replace("'", "''")
        with duckdb.connect() as connection:
            connection.register("rows_of_table", table)
            connection.sql(f"COPY (FROM rows_of_table) TO '{quoted}' (FORMAT parquet, COMPRESSION zstd, "
                           f"KV_METADATA {{'{MARK}': '{table.name}'}})")

    return write


def _writer() -> _Writer:
    """The installed writer of Parquet."""
    for make in (_by_pyarrow, _by_duckdb):
        with contextlib.suppress(ImportError):
            return make()
    raise UsageError(f"Parquet is written by pyarrow or duckdb, and {sys.executable} has neither: "
                     f"{sys.executable} -m pip install pyarrow")


def _is_table(file: pathlib.Path) -> bool:
    """The footer of a Parquet file ends with its length and a magic number, and has our mark."""
    with file.open("rb") as opened:
        size = opened.seek(0, os.SEEK_END)
        if size < 12:
            return False
        opened.seek(-8, os.SEEK_END)
        length, magic = struct.unpack("<I4s", opened.read())
        if magic != b"PAR1" or length > size - 8:
            return False
        opened.seek(-8 - length, os.SEEK_END)
        return MARK.encode() in opened.read(length)


_VIEW = re.compile(r"CREATE OR REPLACE VIEW \w+ AS\n  FROM read_parquet\('[^\n]*', hive_partitioning = true, "
                   r"hive_types = \{[^\n]*\}, union_by_name = true\);\n")


def _is_views(file: pathlib.Path) -> bool:
    """Whether the file has only statements of views()."""
    with file.open(encoding="utf-8", errors="replace") as opened:
        text = opened.read(1 << 20)
        return not _VIEW.sub("", text) and not opened.read(1)


def _run_of(path: str) -> str:
    return pathlib.Path(path).name.removesuffix(".tapelens")


def _folder(key: str, value: object) -> str:
    """The folder of a partition, quoted so that engines read the value back from the path."""
    return f"{key}={urllib.parse.quote(str(value), safe='')}"


def views(directory: str | os.PathLike[str], tables: Iterable[Table]) -> str:
    """SQL for DuckDB that creates a view of each table over all files of the folder."""

    def view(table: Table) -> str:
        below = "run=*" if table.column_names[0] != "process" else "run=*/process=*"
        glob = f"{os.fspath(directory)}/{below}/{table.name}{SUFFIX}".replace("'", "''")
        return (f"CREATE OR REPLACE VIEW {table.name} AS\n"
                f"  FROM read_parquet('{glob}', hive_partitioning = true, hive_types = "
                f"{{'run': VARCHAR{', process: UINTEGER' if below != 'run=*' else ''}}}, union_by_name = true);\n")

    return "".join(map(view, tables))


def _chosen(recording: Recording, names: Sequence[str] | None) -> list[str]:
    for name in names or ():
        if name not in recording.tables:
            raise UsageError(f"unknown table '{name}': the tables are {', '.join(recording.tables)}")
    return list(names or recording.tables)


def to_parquet(recording: Recording | str | os.PathLike[str], directory: str | os.PathLike[str], *,
               run: str | None = None, tables: Sequence[str] | None = None,
               force: bool = False) -> list[pathlib.Path]:
    """Writes `DIRECTORY/run=RUN/process=N/TABLE.parquet`, and `run=RUN/TABLE.parquet` of tables that all processes
    share. RUN is the name of the file if it is not given. Returns the files, `views.sql` the last. Files that it did not
    write are replaced with `force` alone: else UsageError, before anything is written."""
    if not isinstance(recording, Recording):
        recording = open(recording)
    write = _writer()
    run = run if run is not None else _run_of(recording.path)
    base = pathlib.Path(directory)
    names = _chosen(recording, tables)
    mode = _files.mode_of_made(recording.path)
    script = base / "views.sql"
    _files.check(script, "script", _is_views, force)
    for there in base.glob(f"{_folder('run', run)}/**/*{SUFFIX}") if base.is_dir() else ():
        if there.stem in names:
            _files.check(there, "table", _is_table, force)
    files = []
    for process in recording.processes:
        for name in names:
            table = process.tables[name]
            folder = base / _folder("run", run)
            columns = table.column_names
            if columns[0] == "process":  # the name of the folder has it
                folder /= _folder("process", process.index)
                table = table.select(*columns[1:])
            elif process.index > 0:  # all processes share this table: written once
                continue
            file = folder / f"{name}{SUFFIX}"
            with _files.whole(file, "table", _is_table, mode, force) as part:
                write(table, part)
            files.append(file)
    # Views of all possible tables. For a table without files, DuckDB reports that on a query.
    with _files.whole(script, "script", _is_views, mode, force) as part:
        part.write_text(views(base, (recording.tables[name] for name in names)), encoding="utf-8")
    return [*files, script]


def _main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tapelens.parquet", description="Write recordings as Parquet files that DuckDB, Spark, Trino and "
        "others query.", epilog="Example: python -m tapelens.parquet rank*.tapelens -o parquet && "
        "duckdb -init parquet/views.sql")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a recording")
    parser.add_argument("-o", "--output", required=True, metavar="DIR", help="the folder; other runs in it stay")
    parser.add_argument("--force", action="store_true", help="replace files in it that are not of Tapelens, too")
    parser.add_argument("--run", metavar="NAME", help="name of the run; by default the name of its file")
    parser.add_argument("--tables", metavar="A,B", help="write only these tables; by default all")
    given = parser.parse_args(arguments)
    runs = [given.run or _run_of(file) for file in given.files]
    try:
        if len(set(runs)) < len(runs):
            raise UsageError("two of these recordings would be called the same: give them one after another, with --run")
        for file, run in zip(given.files, runs):
            written = to_parquet(file, given.output, run=run, tables=given.tables.split(",") if given.tables else None,
                                 force=given.force)
            size = sum(path.stat().st_size for path in written)
            print(f"{file}: {len(written) - 1} files, {size / 2**20:.1f} MiB in "
                  f"{pathlib.Path(given.output) / _folder('run', run)}. Next: duckdb -init {written[-1]}")
    except UsageError as wrong:
        print(f"tapelens: {wrong}", file=sys.stderr)
        return 2
    except (Error, OSError) as wrong:
        print(f"tapelens: {wrong}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(_main())
