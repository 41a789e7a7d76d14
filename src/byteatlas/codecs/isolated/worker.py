"""The child process: a program of its own that imports nothing of byteatlas.

It reads requests from standard input and answers on standard output. The process that was started only imports the
libraries and forks; what it forked decodes. A fork that dies, or that met damaged data (after which nothing in its
memory can be trusted), is reported and made anew, which costs milliseconds: where each decodes one chunk, the next one
waits already, with as much memory as the last one took. Where there is no fork, the process itself decodes and ends
after damage.

All integers are little-endian. Request: ``<IQ`` length of the head and of the data, head (JSON), data. Answer:
``<8sBQ`` the request's mark, status, length; then so many bytes, then the mark again. A mark that is not there, or not
the request's, tells that the answer was written by a process that went wrong.

Where the system has memory that two processes share and that has no name, a chunk and what is decoded of it lie there
(from its first byte on), and the pipes carry the rest only. Both sides read and write it as a file: a process that went
wrong may cut it off, which ends whoever has it mapped.
"""

from __future__ import annotations

import base64
import ctypes
import faulthandler
import gc
import io
import json
import mmap
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO

REQUEST = struct.Struct("<IQ")
ANSWER = struct.Struct("<8sBQ")
READY = b"ready"
"""What is written first, when the library is there."""
DECODED, DAMAGED, DIED = 0, 1, 2
ENDED, TIMED_OUT, FAILED, RETIRED, DONE = 0, 1, 3, 7, 8
"""Exit status of a process that serves: `RETIRED` after damage, `DONE` after the one chunk that it was for.

`TIMED_OUT` is what faulthandler's watchdog ends a process with.
"""
NO_MORE_WRITTEN = 1 << 16
"""Bytes of a file beside those of a chunk that a process may write."""
MOST_READY = 32 << 20
"""Bytes of memory that a process takes before there is a chunk for it."""
KILOBYTE = 1 << 10
"""Unit of ``ru_maxrss`` on Linux."""
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


class SharedMemory:
    """Memory that both processes see, by its file descriptor; None: there is none, and bytes go through the pipes."""

    def __init__(self, number: int) -> None:
        self.number = number

    def read(self, size: int) -> bytes:
        found = os.pread(self.number, size, 0)
        while len(found) < size:  # the system gives 2 GiB at most
            more = os.pread(self.number, size - len(found), len(found))
            if not more:
                raise EOFError
            found += more
        return found

    def take(self, size: int) -> bytearray:
        """A copy that may be written to."""
        out = bytearray(size)
        view, at = memoryview(out), 0
        while at < size:
            count = os.preadv(self.number, [view[at:]], at)
            if not count:
                raise EOFError
            at += count
        return out

    def write(self, data: Any) -> None:
        view, at = memoryview(data).cast("B"), 0
        while at < len(view):
            at += os.pwrite(self.number, view[at:], at)


def limit(head: dict[str, Any]) -> None:
    """Bound time and memory of what follows: the process ends when it takes more."""
    faulthandler.dump_traceback_later(head["patience"], exit=True)
    try:
        import resource
    except ImportError:  # not on Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limit_one(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + head["seconds"])
    # What is written to the shared memory is not counted as the process's own memory.
    limit_one(resource.RLIMIT_FSIZE, head["most"] + NO_MORE_WRITTEN)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return
    limit_one(resource.RLIMIT_AS, pages * resource.getpagesize() + head["memory"])


def limit_one(kind: int, most: int) -> None:
    """Limit a resource of this process; where the user's own limit (``ulimit``) is lower, that one stays."""
    import resource

    highest = resource.getrlimit(kind)[1]
    resource.setrlimit(kind, (most if highest == resource.RLIM_INFINITY else min(most, highest), highest))


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


def answer(stream: BinaryIO, mark: bytes, status: int, data: Any, shared: bool = False) -> None:
    """Write an answer; what is ``shared`` is where it belongs already."""
    stream.write(ANSWER.pack(mark, status, len(data)))
    if not shared:
        stream.write(data)
    stream.write(mark)
    stream.flush()


def serve(requests: io.FileIO, answers: BinaryIO, shared: SharedMemory | None, note: Callable[[bytes], None]) -> int:
    """Answer requests until there are no more (`ENDED`), one was damaged (`RETIRED`) or for a process alone (`DONE`).

    ``note`` is told the mark of each.
    """
    while True:
        begin = exactly(requests, REQUEST.size)
        if begin is None:
            return ENDED
        length, size = REQUEST.unpack(begin)
        text = exactly(requests, length)
        data = exactly(requests, size) if shared is None else shared.read(size)
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
            if shared is not None:
                shared.write(found)
        except Exception as error:
            faulthandler.cancel_dump_traceback_later()
            why = "more memory than a chunk may take" if isinstance(error, MemoryError) else str(error)
            answer(answers, mark, DAMAGED, (why or type(error).__name__).encode("utf-8", "replace")[:1000])
            return RETIRED
        faulthandler.cancel_dump_traceback_later()
        answer(answers, mark, DECODED, found, shared is not None)
        if head["alone"]:
            return DONE


class Fork:
    """A process that serves as soon as it is told to, and has memory ready until then."""

    def __init__(self, work: Callable[[], int], ready: int) -> None:
        waiting, go = os.pipe()
        self.process = forked()
        if self.process:
            os.close(waiting)
            self.go = go
            return
        status = FAILED
        try:
            os.close(go)
            touch(ready)
            status = work() if os.read(waiting, 1) else ENDED
        finally:
            os._exit(status)

    def begin(self) -> None:
        os.write(self.go, b"!")
        os.close(self.go)

    def ended(self) -> tuple[int, int]:
        """Its exit status, and the most bytes of memory that it had."""
        _, status, used = os.wait4(self.process, 0)
        return os.waitstatus_to_exitcode(status), used.ru_maxrss * KILOBYTE


def forked() -> int:
    """As `os.fork`; a machine that has no room for one more process may have it in a moment."""
    for seconds in (0.01, 0.1, 0.5, 1.0):
        try:
            return os.fork()
        except BlockingIOError:
            time.sleep(seconds)
    return os.fork()


def touch(size: int) -> None:
    """Take memory and give it back to this process: what it decodes into is there then, not made page by page."""
    block = b"\1" * size
    del block


def resident() -> int:
    """Bytes of memory that this process has; 0 where that is not told."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE
    except (OSError, ValueError):
        return 0


def supervise(requests: io.FileIO, answers: BinaryIO, shared: SharedMemory | None) -> None:
    """Fork processes that serve, one after the other, and report those that died."""
    last = mmap.mmap(-1, 8)  # shared with the fork: the mark of the request that it works on
    own, ready = resident(), 0

    def work() -> int:
        return serve(requests, answers, shared, lambda mark: last.__setitem__(slice(None), mark))

    following = None
    while True:
        fork = following or Fork(work, 0)
        fork.begin()
        following = Fork(work, ready) if ready else None
        code, used = fork.ended()
        if code == ENDED:
            return  # who waits for this process to begin ends with it
        if code == DONE and own:
            ready = min(max(used - own, 1), MOST_READY)
        elif code not in (DONE, RETIRED):
            answer(answers, last[:], DIED, describe(code).encode())


def describe(code: int) -> str:
    """How a process ended, in words."""
    if code in (TIMED_OUT, -getattr(signal, "SIGXCPU", 1 << 20)):
        return "it takes more time than a chunk may"
    return f"its decoder ended with {signal.Signals(-code).name}" if code < 0 else f"its decoder ended with {code}"


def main(paths: str, library: str, shared_memory: str) -> None:
    """Serve with ``library:function``, which is looked for in these places (a JSON list)."""
    sys.path[:] = json.loads(paths)
    requests, answers = io.FileIO(0, closefd=False), io.BufferedWriter(io.FileIO(1, "w", closefd=False))
    shared = SharedMemory(int(shared_memory)) if shared_memory else None
    module, _, function = library.partition(":")
    # What a fork would have to load anew for each chunk is loaded here: imagecodecs' functions bring their own library.
    getattr(import_module(module), function, None)
    answers.write(READY)
    answers.flush()
    if hasattr(os, "fork"):
        gc.freeze()  # what is here now is not looked at again: looking would copy its memory in each fork
        supervise(requests, answers, shared)
    else:
        serve(requests, answers, shared, lambda mark: None)


if __name__ == "__main__":
    main(*sys.argv[1:])
