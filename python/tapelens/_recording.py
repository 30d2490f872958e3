"""A sealed recording as tables for all readers of Arrow."""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import weakref
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from tapelens import _arrow, _library, _notebook
from tapelens._errors import UsageError

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Table:
    """Rows of one kind, of all processes of a recording or of one.

    It holds no data: a reader (`pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, DuckDB by
    its variable's name) gets a stream of batches that are made as they are read. Columns that the analysis already has
    in Arrow's form are passed on without a copy.
    """

    def __init__(self, recording: Recording, name: str, types: Mapping[str, str], process: int = -1,
                 columns: tuple[str, ...] | None = None) -> None:
        self._recording = recording
        self._types = types
        self._process = process
        self._columns = columns
        self.name = name

    @property
    def column_names(self) -> list[str]:
        return list(self._types) if self._columns is None else list(self._columns)

    @property
    def schema(self) -> dict[str, str]:
        """Arrow's type of each column; "dictionary" is utf8 by int32."""
        return {name: self._types[name] for name in self.column_names}

    def select(self, *columns: str) -> Table:
        """The table with only these columns. Others are not computed."""
        for column in columns:
            if column not in self._types:
                raise UsageError(f"the table {self.name} has no column {column}: it has {', '.join(self._types)}")
        return Table(self._recording, self.name, self._types, self._process, columns)

    def _selection(self) -> _library.Selection:
        return _library.selection(self.name, self._process, self._columns)

    def __len__(self) -> int:
        rows = ctypes.c_uint64()
        _library.call(_library.library().tapelens_rows, self._recording._handle(), ctypes.byref(self._selection()),
                      ctypes.byref(rows))
        return rows.value

    def __bool__(self) -> bool:
        return len(self) > 0

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface. The reader casts to a requested schema."""
        return _library.capsule("stream", self._recording._handle(), self._selection())

    def __arrow_c_schema__(self) -> object:
        return _library.capsule("schema", self._recording._handle(), self._selection())

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yields the rows as dictionaries, without a package; for small tables."""
        return _arrow.rows(self.__arrow_c_stream__())

    def to_arrow(self) -> pyarrow.Table:
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame.from_arrow(self) if hasattr(pandas.DataFrame, "from_arrow") else self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        import polars

        return polars.DataFrame(self)

    def __repr__(self) -> str:
        return f"<tapelens.Table {self.name}: {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str | None:
        if self._recording.is_closed:
            return None
        return _notebook.table(self.name, self.column_names, self.rows(), len(self))


class Tables(Mapping[str, Table]):
    """Tables by name: `tables["saves"]`."""

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> Table:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<tapelens.Tables {', '.join(self)}>"


class _HasTables:
    """Each table is an attribute as well: `recording.saves`."""

    tables: Tables
    #: For each process: pid, rank, and its end.
    processes_table: Table
    devices: Table
    steps: Table
    regions: Table
    out_of_memory: Table
    losses: Table
    peak: Table
    peak_holders: Table
    findings: Table
    allocations: Table
    timeline: Table
    operators: Table
    nodes: Table
    edges: Table
    saves: Table
    frames: Table
    stacks: Table
    modules: Table

    def __getattr__(self, name: str) -> Any:
        tables = self.__dict__.get("tables", {})
        # The recording's processes are a list, not this table.
        found = tables.get("processes" if name == "processes_table" else name)
        if found is None:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables})


@dataclasses.dataclass(frozen=True)
class Held:
    """A group of live allocations: "ReluBackward0.result" by field, "train.py:42 forward" by source.

    `label` is the key as `tapelens report` shows it: "optimizer state" for "optimizer_state".
    """

    key: str
    label: str
    bytes: int
    allocations: int
    source: str


@dataclasses.dataclass(frozen=True)
class Peak:
    """The peak of a device in a part of the recording."""

    device: str
    begin_live_bytes: int
    peak_bytes: int
    peak_time_ns: int
    groups: list[Held]


@dataclasses.dataclass(frozen=True)
class Process(_HasTables):
    """A process of a recording, with its own rows of each table."""

    index: int
    pid: int
    parent_pid: int
    rank: int | None
    finished: bool
    exit_code: int | None
    wall_ns: int
    recording: Recording = dataclasses.field(repr=False)
    tables: Tables = dataclasses.field(repr=False)

    def peaks_between(self, begin_ns: int, end_ns: int, *, by: str = "field", top: int = 3) -> list[Peak]:
        """Live bytes on each device in [begin_ns, end_ns) of the recording's time, with the holders at the peak."""
        text = ctypes.c_void_p()
        _library.call(_library.library().tapelens_between, self.recording._handle(), self.index, begin_ns, end_ns,
                      by.encode(), top, ctypes.byref(text))
        return [Peak(**{**peak, "groups": [Held(**group) for group in peak["groups"]]})
                for peak in json.loads(_library.taken(text))]


class Recording(_HasTables):
    """A sealed recording: the result of `tapelens.open()`."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        library = _library.library()
        handle = ctypes.c_void_p()
        _library.call(library.tapelens_open, os.fsencode(path), ctypes.byref(handle))
        self._open: ctypes.c_void_p | None = handle
        self._closing = weakref.finalize(self, library.tapelens_close, handle)
        text = ctypes.c_void_p()
        _library.call(library.tapelens_facts, handle, ctypes.byref(text))
        facts = json.loads(_library.taken(text))
        self.path = os.fspath(path)
        #: The command as the user typed it.
        self.command: str = facts["command"]
        self.duration_ns: int = facts["duration_ns"]
        self.events: int = facts["events"]
        self.file_bytes: int = facts["file_bytes"]
        self._described = {table["name"]: {c["name"]: c["type"] for c in table["columns"]} for table in facts["tables"]}
        self.tables = self._tables(-1)
        self.processes = [Process(index=index, recording=self, tables=self._tables(index), **process)
                          for index, process in enumerate(facts["processes"])]

    def _tables(self, process: int) -> Tables:
        return Tables({name: Table(self, name, types, process) for name, types in self._described.items()})

    def _handle(self) -> ctypes.c_void_p:
        if self._open is None:
            raise UsageError(f"{self.path}: the recording was closed")
        return self._open

    def report(self, format: str = "text", *, at: str | None = None, by: str | None = None, top: int | None = None,
               pid: int | None = None, device: str | None = None, width: int | None = None) -> str:
        """The output of `tapelens report` with its options: `report("html")`, `report(by="source", top=20)`."""

        def encoded(word: str | None) -> bytes | None:
            return None if word is None else word.encode()

        def number(value: int | None) -> int:
            return -1 if value is None else value

        options = _library.ReportOptions(encoded(format), encoded(at), encoded(by), encoded(device), number(top),
                                         number(pid), number(width))
        text = ctypes.c_void_p()
        _library.call(_library.library().tapelens_report, self._handle(), ctypes.byref(options), ctypes.byref(text))
        return _library.taken(text)

    @property
    def is_closed(self) -> bool:
        return self._open is None

    def close(self) -> None:
        """Closes the file. Open streams keep the data that they need."""
        self._open = None
        self._closing()

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tapelens.Recording {self.path}: {self.command}>"

    def _repr_html_(self) -> str | None:
        return None if self.is_closed else _notebook.framed(self.report("html"))


def open(path: str | os.PathLike[str]) -> Recording:
    """Opens a sealed recording. Raises `tapelens.Error` with a sentence if the file is damaged or not a recording."""
    return Recording(path)
