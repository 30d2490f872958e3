"""Reads Arrow's C streams without pyarrow, for small tables."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))), ("dictionary", ctypes.POINTER(_Schema)),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))), ("private_data", ctypes.c_void_p)]
_Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                   ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
                   ("dictionary", ctypes.POINTER(_Array)),
                   ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))), ("private_data", ctypes.c_void_p)]
_Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
                    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
                    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("private_data", ctypes.c_void_p)]

_NUMBERS = {b"C": ctypes.c_uint8, b"S": ctypes.c_uint16, b"I": ctypes.c_uint32, b"L": ctypes.c_uint64,
            b"i": ctypes.c_int32, b"l": ctypes.c_int64}


def _bits(address: int, count: int) -> list[bool]:
    held = ctypes.string_at(address, (count + 7) // 8)
    return [bool(held[at // 8] >> at % 8 & 1) for at in range(count)]


def _values(schema: _Schema, array: _Array) -> list[Any]:
    """A column as Python's own values. libtapelens' arrays have no offset."""
    count = array.length
    values: list[Any]
    if schema.format == b"u":
        ends = ctypes.cast(array.buffers[1], ctypes.POINTER(ctypes.c_int32))[: count + 1]
        text = ctypes.string_at(array.buffers[2], ends[count]) if count else b""
        values = [text[begin:end].decode() for begin, end in zip(ends, ends[1:])]
    elif schema.format == b"b":
        values = _bits(array.buffers[1], count)
    else:
        values = ctypes.cast(array.buffers[1], ctypes.POINTER(_NUMBERS[schema.format]))[:count]
    valid = _bits(array.buffers[0], count) if array.buffers[0] else [True] * count
    if schema.dictionary:
        words = _values(schema.dictionary.contents, array.dictionary.contents)
        return [words[value] if is_valid else None for value, is_valid in zip(values, valid)]
    return [value if is_valid else None for value, is_valid in zip(values, valid)]


def rows(capsule: object) -> Iterator[dict[str, Any]]:
    """The rows of an "arrow_array_stream" capsule."""
    pointer_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi))
    stream = ctypes.cast(pointer_of(capsule, b"arrow_array_stream"), ctypes.POINTER(_Stream))

    def read(function: Any, into: Any) -> None:
        if function(stream, ctypes.byref(into)):
            raise RuntimeError((stream.contents.get_last_error(stream) or b"").decode())

    schema = _Schema()
    read(stream.contents.get_schema, schema)
    try:
        names = [schema.children[at].contents.name.decode() for at in range(schema.n_children)]
        while True:
            batch = _Array()
            read(stream.contents.get_next, batch)
            if not batch.release:
                return
            try:
                columns = [_values(schema.children[at].contents, batch.children[at].contents)
                           for at in range(schema.n_children)]
            finally:
                batch.release(ctypes.byref(batch))
            for row in zip(*columns):
                yield dict(zip(names, row))
    finally:
        schema.release(ctypes.byref(schema))
