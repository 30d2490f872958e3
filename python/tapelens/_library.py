"""The functions of libtapelens through ctypes, with its errors as exceptions."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from tapelens import _installed
from tapelens._errors import Error, UsageError

ABI_VERSION = 1


class Selection(ctypes.Structure):
    """struct tapelens_selection of capi/tapelens.h."""

    _fields_ = [("table", ctypes.c_char_p), ("process", ctypes.c_int64),
                ("columns", ctypes.POINTER(ctypes.c_char_p)), ("column_count", ctypes.c_size_t)]


class ReportOptions(ctypes.Structure):
    """struct tapelens_report_options of capi/tapelens.h."""

    _fields_ = [("format", ctypes.c_char_p), ("at", ctypes.c_char_p), ("by", ctypes.c_char_p),
                ("device", ctypes.c_char_p), ("top", ctypes.c_int64), ("pid", ctypes.c_int64),
                ("width", ctypes.c_int64)]


@functools.cache
def library() -> ctypes.CDLL:
    """The library, loaded on first use."""
    file = _installed.library()
    loaded = ctypes.CDLL(str(file))
    loaded.tapelens_abi_version.restype = ctypes.c_uint32
    if loaded.tapelens_abi_version() != ABI_VERSION:
        raise Error(f"{file} is of another version of Tapelens than the Python package")
    loaded.tapelens_version.restype = ctypes.c_char_p
    text, recording, out = ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)
    loaded.tapelens_free.argtypes = [text]
    loaded.tapelens_free.restype = None
    loaded.tapelens_close.argtypes = [recording]
    loaded.tapelens_close.restype = None
    loaded.tapelens_open.argtypes = [ctypes.c_char_p, out, out]
    loaded.tapelens_facts.argtypes = [recording, out, out]
    loaded.tapelens_rows.argtypes = [recording, ctypes.POINTER(Selection), ctypes.POINTER(ctypes.c_uint64), out]
    loaded.tapelens_between.argtypes = [recording, ctypes.c_uint32, ctypes.c_int64, ctypes.c_int64, ctypes.c_char_p,
                                        ctypes.c_uint32, out, out]
    loaded.tapelens_report.argtypes = [recording, ctypes.POINTER(ReportOptions), out, out]
    return loaded


@functools.cache
def _capsules() -> ctypes.PyDLL:
    """The functions that make capsules, called with the interpreter's lock held."""
    loaded = ctypes.PyDLL(str(_installed.library()))
    api = ctypes.pythonapi
    loaded.tapelens_use_capsules.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    loaded.tapelens_use_capsules.restype = None
    loaded.tapelens_use_capsules(ctypes.cast(api.PyCapsule_New, ctypes.c_void_p),
                                 ctypes.cast(api.PyCapsule_GetPointer, ctypes.c_void_p))
    for function in (loaded.tapelens_stream_capsule, loaded.tapelens_schema_capsule):
        function.argtypes = [ctypes.c_void_p, ctypes.POINTER(Selection), ctypes.POINTER(ctypes.c_void_p),
                             ctypes.POINTER(ctypes.c_void_p)]
    return loaded


def taken(text: ctypes.c_void_p) -> str:
    """The text that the library handed out, which is given back to it."""
    if not text.value:
        raise MemoryError
    try:
        return ctypes.string_at(text.value).decode("utf-8", "replace")
    finally:
        library().tapelens_free(text)


def call(function: Any, *arguments: Any) -> None:
    """Calls a function whose last parameter is `char** error`. Raises its error."""
    error = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(error))
    if status:
        sentence = taken(error)
        raise UsageError(sentence) if status == 2 else Error(sentence)


def selection(table: str, process: int, columns: tuple[str, ...] | None) -> Selection:
    if columns is None:
        return Selection(table.encode(), process, None, 0)
    names = (ctypes.c_char_p * len(columns))(*(name.encode() for name in columns))
    return Selection(table.encode(), process, names, len(columns))


def capsule(kind: str, recording: ctypes.c_void_p, of: Selection) -> object:
    """A PyCapsule of an ArrowArrayStream ("stream") or an ArrowSchema ("schema")."""
    made = ctypes.c_void_p()
    library()  # raises the error of a missing library
    call(getattr(_capsules(), f"tapelens_{kind}_capsule"), recording, ctypes.byref(of), ctypes.byref(made))
    if not made.value:
        raise MemoryError
    taken_over = ctypes.cast(made, ctypes.py_object).value
    ctypes.pythonapi.Py_DecRef(ctypes.py_object(taken_over))
    return taken_over
