"""The child process: a program of its own that imports nothing of byteatlas.

It reads requests from standard input and answers on standard output. The process that was started only imports the
libraries and forks; what it forked decodes. A fork that dies, or that met damaged data (after which nothing in its
memory can be trusted), is reported and made anew, which costs a millisecond. Where there is no fork, the process
itself decodes and ends after damage.

All integers are little-endian. Request: ``<IQ`` length of the head and of the data, head (JSON), data. Answer:
``<8sBQ`` the request's mark, status, length; then so many bytes, then the mark again. A mark that is not there, or not
the request's, tells that the answer was written by a process that went wrong.
"""

from __future__ import annotations

import base64
import ctypes
import faulthandler
import io
import json
import mmap
import os
import signal
import struct
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

REQUEST = struct.Struct("<IQ")
ANSWER = struct.Struct("<8sBQ")
READY = b"ready"
"""What is written first, when the library is there."""
DECODED, DAMAGED, DIED = 0, 1, 2
ENDED, TIMED_OUT, FAILED, RETIRED = 0, 1, 3, 7
"""Exit status of a process that serves. `TIMED_OUT` is what faulthandler's watchdog ends a process with."""
REVERSE = 0x0100
"""``H5Z_FLAG_REVERSE``: the filter is undone."""


class PluginClass(ctypes.Structure):
    """``H5Z_class2_t`` of libhdf5's H5Zdevelop.h."""

    _fields_ = (
        ("version", ctypes.c_int),
        ("id", ctypes.c_int),
        ("encoder_present", ctypes.c_uint),
        ("decoder_present", ctypes.c_uint),
        ("name", ctypes.c_char_p),
        ("can_apply", ctypes.c_void_p),
        ("set_local", ctypes.c_void_p),
        ("filter", ctypes.c_void_p),
    )


def decode_plugin(data: bytes, path: str, values: list[int]) -> Any:
    """Undo one HDF5 filter by calling its plugin as libhdf5 does."""
    library = ctypes.CDLL(path)
    library.H5PLget_plugin_info.restype = ctypes.POINTER(PluginClass)
    shape = (ctypes.c_uint, ctypes.c_size_t, ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t)
    kind = ctypes.CFUNCTYPE(ctypes.c_size_t, *shape, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_void_p))
    function = kind(library.H5PLget_plugin_info().contents.filter)
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    buffer = ctypes.c_void_p(libc.malloc(max(1, len(data))))
    if not buffer.value:
        raise MemoryError
    ctypes.memmove(buffer, data, len(data))
    size = ctypes.c_size_t(len(data))
    array = (ctypes.c_uint * len(values))(*values)
    found = function(REVERSE, len(values), array, len(data), ctypes.byref(size), ctypes.byref(buffer))
    if not found or not buffer.value:
        raise ValueError("the filter failed")
    out = ctypes.string_at(buffer, found)
    libc.free(buffer)
    return out


def decode(head: dict[str, Any], data: bytes) -> memoryview:
    """What a request asks for, as bytes; raises whatever the library does."""
    if head["function"] == "plugin":
        return memoryview(decode_plugin(data, **head["options"]))
    import numpy as np

    options = dict(head["options"])
    for name in head["binary"]:
        options[name] = base64.b64decode(options[name])
    found = getattr(import_module(head["library"]), head["function"])(data, **options)
    wanted = head.get("array")
    if wanted is not None and not isinstance(found, bytes) and [list(found.shape), found.dtype.str] not in wanted:
        raise ValueError(f"an image of shape {found.shape}, type {found.dtype}")
    array = np.frombuffer(found, np.uint8) if isinstance(found, bytes) else np.ascontiguousarray(found)
    return array.reshape(-1).view(np.uint8).data


def limit(head: dict[str, Any]) -> None:
    """Bound time and memory of what follows: the process ends when it takes more."""
    faulthandler.dump_traceback_later(head["patience"], exit=True)
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = int(used.ru_utime + used.ru_stime) + head["seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return
    most = pages * resource.getpagesize() + head["memory"]
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))


def exactly(stream: io.FileIO, size: int) -> bytes | None:
    """So many bytes; None at the end of the stream. Nothing more is taken: a later fork reads on from here."""
    out = bytearray(size)
    view, at = memoryview(out), 0
    while at < size:
        count = stream.readinto(view[at:])
        if not count:
            return None
        at += count
    return bytes(out)


def answer(stream: BinaryIO, mark: bytes, status: int, data: Any) -> None:
    stream.write(ANSWER.pack(mark, status, len(data)))
    stream.write(data)
    stream.write(mark)
    stream.flush()


def serve(requests: io.FileIO, answers: BinaryIO, note: Callable[[bytes], None]) -> int:
    """Answer requests until there are no more (`ENDED`), or one was damaged or for a process alone (`RETIRED`).

    ``note`` is told the mark of each.
    """
    while True:
        begin = exactly(requests, REQUEST.size)
        if begin is None:
            return ENDED
        length, size = REQUEST.unpack(begin)
        text, data = exactly(requests, length), exactly(requests, size)
        if text is None or data is None:
            return ENDED
        head = json.loads(text)
        mark = bytes.fromhex(head["mark"])
        note(mark)
        try:
            limit(head)
            found = decode(head, data)
            if len(found) > head["most"]:
                raise ValueError(f"{len(found)} bytes where the chunk has at most {head['most']}")
        except Exception as error:
            faulthandler.cancel_dump_traceback_later()
            why = "more memory than a chunk may take" if isinstance(error, MemoryError) else str(error)
            answer(answers, mark, DAMAGED, (why or type(error).__name__).encode("utf-8", "replace")[:1000])
            return RETIRED
        faulthandler.cancel_dump_traceback_later()
        answer(answers, mark, DECODED, found)
        if head["alone"]:
            return RETIRED


def fork_and_serve(requests: io.FileIO, answers: BinaryIO, note: Callable[[bytes], None]) -> int:
    """Serve in a fork; gives its process number."""
    child = os.fork()
    if child:
        return child
    status = FAILED
    try:
        status = serve(requests, answers, note)
    finally:
        os._exit(status)


def supervise(requests: io.FileIO, answers: BinaryIO) -> None:
    """Fork processes that serve, one after the other, and report those that died."""
    last = mmap.mmap(-1, 8)  # shared with the fork: the mark of the request that it works on

    def note(mark: bytes) -> None:
        last[:] = mark

    while True:
        _, status = os.waitpid(fork_and_serve(requests, answers, note), 0)
        code = os.waitstatus_to_exitcode(status)
        if code == ENDED:
            return
        if code != RETIRED:
            answer(answers, last[:], DIED, describe(code).encode())


def describe(code: int) -> str:
    """How a process ended, in words."""
    if code in (TIMED_OUT, -getattr(signal, "SIGXCPU", 1 << 20)):
        return "it takes more time than a chunk may"
    return f"its decoder ended with {signal.Signals(-code).name}" if code < 0 else f"its decoder ended with {code}"


def main(paths: str, library: str) -> None:
    """Serve with a library, which is looked for in these places (a JSON list)."""
    sys.path[:] = json.loads(paths)
    requests, answers = io.FileIO(0, closefd=False), io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    import_module(library)
    answers.write(READY)
    answers.flush()
    if hasattr(os, "fork"):
        supervise(requests, answers)
    else:
        serve(requests, answers, lambda mark: None)


if __name__ == "__main__":
    main(*sys.argv[1:])
