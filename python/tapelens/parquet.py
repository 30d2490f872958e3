"""Recordings as Parquet files, for engines that query many of them at once:

    python -m tapelens.parquet run.tapelens -o parquet

writes `parquet/saves/saves-run.parquet` and so on: one folder for each table, with one file for each run. For DuckDB,
`parquet/views.sql` makes a view of each table; for Spark, `create_views()` does. docs/queries.md shows what to ask them.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import struct
import sys
import urllib.parse
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from tapelens import _files, _views
from tapelens._errors import Error, UsageError
from tapelens._recording import Recording, Table, open
from tapelens._views import create_views

__all__ = ["create_views", "to_parquet"]

_Item = TypeVar("_Item")

SUFFIX = ".parquet"
THREADS = 4  # that write the tables of a recording
MARK = "tapelens.table"  # in the metadata of each file, with the name of its table: which may be replaced


class _Writer(Protocol):
    def __call__(self, recording: Recording, run: str, files: Mapping[str, pathlib.Path]) -> None:
        """Writes the tables into their files, with the name of the run as the first column."""


def _together(work: Callable[[_Item], object], items: Iterable[_Item]) -> None:
    """Calls `work` for each item, in a few threads."""
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, items))


def _by_pyarrow() -> _Writer:
    import pyarrow
    import pyarrow.parquet

    def write(recording: Recording, run: str, files: Mapping[str, pathlib.Path]) -> None:
        names = pyarrow.array([run])
        field = pyarrow.field("run", pyarrow.dictionary(pyarrow.int32(), names.type), nullable=False)
        writers: dict[str, Any] = {}

        def add(table: Table) -> None:
            reader = pyarrow.RecordBatchReader.from_stream(table)
            schema = pyarrow.schema([field, *reader.schema], {**(reader.schema.metadata or {}), MARK: table.name})
            if table.name not in writers:
                writer = pyarrow.parquet.ParquetWriter(files[table.name], schema, compression="zstd")
                writers[table.name] = opened.enter_context(writer)
            for batch in reader:
                indices = pyarrow.repeat(pyarrow.scalar(0, pyarrow.int32()), batch.num_rows)
                column = pyarrow.DictionaryArray.from_arrays(indices, names)
                writers[table.name].write_batch(pyarrow.RecordBatch.from_arrays([column, *batch.columns], schema=schema))

        # All tables of a process, then those of the next: the recording is read once.
        with contextlib.ExitStack() as opened:
            for index, part in enumerate(recording.processes or [recording]):
                tables = [part.tables[name] for name in files]
                _together(add, [table for table in tables if index == 0 or not _is_shared(table)])

    return write


def _by_duckdb() -> _Writer:
    import duckdb

    def write(recording: Recording, run: str, files: Mapping[str, pathlib.Path]) -> None:
        for name, file in files.items():
            quoted_file, quoted_run = (text.replace("'", "''") for text in (str(file), run))
            with duckdb.connect() as connection:
                connection.register("rows_of_table", recording.tables[name])
                connection.sql(f"COPY (SELECT '{quoted_run}' AS run, * FROM rows_of_table) TO '{quoted_file}' (FORMAT parquet, "
                               f"COMPRESSION zstd, KV_METADATA {{'{MARK}': '{name}'}})")

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


def _run_of(path: str) -> str:
    return pathlib.Path(path).name.removesuffix(".tapelens")


def _is_shared(table: Table) -> bool:
    """Whether all processes share the rows."""
    return table.column_names[0] != "process"


def _flush(file: pathlib.Path) -> None:
    with file.open("rb") as opened:
        os.fsync(opened.fileno())


def _file(base: pathlib.Path, table: str, run: str) -> pathlib.Path:
    return base / table / f"{table}-{urllib.parse.quote(run, safe=' ')}{SUFFIX}"


def _chosen(recording: Recording, names: Sequence[str] | None) -> list[str]:
    for name in names or ():
        if name not in recording.tables:
            raise UsageError(f"unknown table '{name}': the tables are {', '.join(recording.tables)}")
    return list(names or recording.tables)


def to_parquet(recording: Recording | str | os.PathLike[str], directory: str | os.PathLike[str], *,
               run: str | None = None, tables: Sequence[str] | None = None,
               force: bool = False) -> list[pathlib.Path]:
    """Writes `DIRECTORY/TABLE/TABLE-RUN.parquet`, with the column `run` before those of the table. RUN is the name of
    the file if it is not given. Returns the files, `views.sql` the last. Files that it did not write are replaced with
    `force` alone: else UsageError, before anything is written."""
    if not isinstance(recording, Recording):
        with open(recording) as opened:
            return to_parquet(opened, directory, run=run, tables=tables, force=force)
    write = _writer()
    name_of_run = run if run is not None else _run_of(recording.path)
    base = pathlib.Path(directory)
    files = {name: _file(base, name, name_of_run) for name in _chosen(recording, tables)}
    mode = _files.mode_of_made(recording.path)
    script = base / _views.SCRIPT
    _files.check(script, "script", _views.is_script, force)
    for file in files.values():
        _files.check(file, "table", _is_table, force)

    with contextlib.ExitStack() as replaced:
        parts = {name: replaced.enter_context(_files.whole(file, "table", _is_table, mode, force))
                 for name, file in files.items()}
        write(recording, name_of_run, parts)
        _together(_flush, parts.values())  # before they replace older files, one by one
    # Tables of other runs stay. DuckDB makes no view of a table without files.
    with _files.whole(script, "script", _views.is_script, mode, force) as part:
        part.write_text(_views.script(base, [name for name in recording.tables if (base / name).is_dir()]), encoding="utf-8")
    return [*files.values(), script]


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
                  f"{given.output}. Next: duckdb -init {written[-1]}")
    except UsageError as wrong:
        print(f"tapelens: {wrong}", file=sys.stderr)
        return 2
    except (Error, OSError) as wrong:
        print(f"tapelens: {wrong}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(_main())
