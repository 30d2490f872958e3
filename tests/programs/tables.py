"""Reads the tables of a recording by docs/trace-format.md alone. It takes the names and numbers of tables and columns
from the page, so it cannot read an undocumented table. Shares no code with Tapelens."""

import ctypes
import functools
import pathlib
import struct

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/trace-format.md"
HEADER, FOOTER = 32, struct.Struct("<QQQQQQ")
CHUNK = struct.Struct("<BBBBBBHIIQQIIQ")


@functools.lru_cache
def numbers():
    """{table: (number, {column: number})}, of the page's list."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    tables, columns = {}, {}
    for line in lines[lines.index("| table | column | type | transform | |"):]:
        if not line.startswith("|"):
            break
        table, column = (cell.split() for cell in line.split("|")[1:3])
        if len(table) == 2 and table[0].isdigit():
            columns = {}
            tables[table[1]] = (int(table[0]), columns)
        if len(column) == 2 and column[0].isdigit():
            columns[column[1]] = int(column[0])
    return tables


@functools.lru_cache
def zstd():
    library = ctypes.CDLL("libzstd.so.1")
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    return library


def inflate(data, size):
    room = ctypes.create_string_buffer(size)
    assert zstd().ZSTD_decompress(room, size, data, len(data)) == size
    return room.raw


def values(width, transform, planes, encoding, rows, base, data):
    """The values of one chunk."""
    stored = [plane for plane in range(width) if planes >> plane & 1]
    if encoding == 1:
        data = inflate(data, rows * len(stored))
    spread = [data[place * rows:(place + 1) * rows] for place in range(len(stored))]
    small = [sum(plane[row] << 8 * number for number, plane in zip(stored, spread)) for row in range(rows)]
    mask = (1 << 8 * width) - 1
    if transform == 0:
        return [(base + value) & mask for value in small]
    out = []
    for step in small:
        base = (base + (step >> 1 ^ -(step & 1))) & mask
        out.append(base)
    return out


class Recording:
    def __init__(self, path):
        self.data = pathlib.Path(path).read_bytes()
        at, size, _, whole, _, magic = FOOTER.unpack_from(self.data, len(self.data) - FOOTER.size)
        assert magic == int.from_bytes(b"TAPELEND", "little") and whole == len(self.data)
        self.pids, self.chunks = [], {}
        end = at + size
        while at < end:
            tag, length = struct.unpack_from("<II", self.data, at)
            at += 8
            if tag == 3:
                self.pids.append(struct.unpack_from("<I", self.data, at)[0])
            elif tag == 5:
                for chunk in CHUNK.iter_unpack(self.data[at:at + length]):
                    table, column, *_, process = chunk[:8]
                    self.chunks.setdefault((process, table, column), []).append(chunk)
            at += -(-length // 8) * 8

    def column(self, table, column, pid=None):
        """The values of a column. `pid` selects the process for tables that each process has."""
        assert table in numbers(), f"{PAGE} has no table '{table}'"
        number, columns = numbers()[table]
        assert column in columns, f"{PAGE} has no column '{column}' of {table}"
        process = self.pids.index(pid) if pid is not None else 0
        out = []
        for chunk in self.chunks.get((process, number, columns[column]), []):
            _, _, width, transform, planes, encoding, _, _, rows, base, offset, stored, _, _ = chunk
            out += values(width, transform, planes, encoding, rows, base, self.data[offset:offset + stored])
        return out

    def rows(self, table, names, pid=None):
        """Tuples of these columns."""
        return list(zip(*(self.column(table, name, pid) for name in names), strict=True))

    @functools.lru_cache
    def strings(self):
        """By their ids."""
        text, out, at = bytes(self.column("string_bytes", "byte")), [""], 0
        for size in self.column("strings", "bytes"):
            out.append(text[at:at + size].decode())
            at += size
        return out
