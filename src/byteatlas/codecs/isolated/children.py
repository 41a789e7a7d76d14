"""Child processes that decode: started when they are needed, kept warm, shared by all threads.

A child belongs to the process that started it: it reads its requests from a pipe and ends when that is closed, which
happens at the latest when the process ends. After a fork the new process starts children of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.imagecodecs_table import KEPT
from byteatlas.codecs.isolated.worker import ANSWER, DECODED, READY, REQUEST, SharedMemory
from byteatlas.errors import CorruptChunk, Unsupported
from byteatlas.types import JSON
from byteatlas.values import dataclass

MOST_PROCESSES = 8
PIPE = 1 << 20
"""Bytes that a pipe may hold where that can be chosen: a chunk then goes through in one piece."""
SECONDS = 5
BYTES_A_SECOND = 4 << 20
"""Processor time of a chunk: `SECONDS`, and one more for every so many decoded bytes."""
PATIENCE = 12
"""Times as much may pass on the clock, on a machine that is busy."""
KEEP_MEMORY = "glibc.malloc.mmap_threshold=33554432:glibc.malloc.trim_threshold=268435456"
"""Memory that a decoder gives back stays with its process: each page that the system makes anew takes microseconds."""
KEPT_SHARED = 16 << 20
"""Bytes of shared memory that a child keeps for the next chunk."""
MEMORY = 256 << 20
"""Bytes of memory beside eight times the decoded and encoded bytes."""


@dataclass(frozen=True, slots=True)
class ChildRequest:
    """What a child is asked for.

    Attributes:
        library: the package that decodes, imported before the first request.
        function: its function, or ``plugin``.
        most: bytes that may come out.
        options: of the function; what is bytes goes as base64.
        shapes: shape and type string of arrays that may come out; None: any.
        alone: the process that decodes it decodes nothing else: damaged data may spoil its memory unnoticed.
    """

    library: str
    function: str
    most: int
    options: Mapping[str, Any]
    shapes: list[JSON] | None = None
    alone: bool = False

    def head(self, mark: bytes, size: int) -> bytes:
        seconds = SECONDS + self.most // BYTES_A_SECOND
        limits = {"seconds": seconds, "patience": PATIENCE * seconds, "memory": MEMORY + 8 * (self.most + size)}
        binary = [name for name, value in self.options.items() if isinstance(value, bytes)]
        options = {**self.options, **{name: b64encode(self.options[name]).decode() for name in binary}}
        what = {
            "library": self.library,
            "function": self.function,
            "options": options,
            "binary": binary,
            "array": self.shapes,
        }
        return json.dumps({**what, **limits, "mark": mark.hex(), "most": self.most, "alone": self.alone}).encode()


class _Ended(Exception):
    """The child is no more, or says what makes no sense."""


class _Child:
    """One child process; used by one thread at a time."""

    __slots__ = ("answered", "process", "shared")

    def __init__(self, library: str) -> None:
        program = Path(__file__).with_name("worker.py")
        paths = json.dumps([str(Path(p).resolve()) for p in sys.path if p])
        # One thread in each, so that it can fork; no signals of the terminal; no messages of the libraries.
        single = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
        single["GLIBC_TUNABLES"] = ":".join(filter(None, (os.environ.get("GLIBC_TUNABLES"), KEEP_MEMORY)))
        self.shared = shared_memory()
        number = () if self.shared is None else (self.shared.number,)
        try:
            self.process = subprocess.Popen(
                [sys.executable, "-I", str(program), paths, library, *map(str, number or ("",))],
                bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                cwd=program.anchor, env={**os.environ, **single}, start_new_session=True, pass_fds=number,
            )  # fmt: skip
        except OSError as error:
            self._unshare()
            raise Unsupported("codec", f"no child process to decode in ({error})") from error
        self.answered = False
        _widen(self.process.stdin, self.process.stdout)
        try:
            self._read(len(READY))
        except _Ended:
            self.end()
            raise Unsupported("codec", f"the child process that decodes with {library} does not start") from None

    def ask(self, request: ChildRequest, data: Any) -> tuple[int, bytearray]:
        """Status and content of the answer. Raises `_Ended`."""
        mark = os.urandom(8)
        head = request.head(mark, len(data))
        try:
            if self.shared is not None:
                self.shared.write(data)
            self._write(REQUEST.pack(len(head), len(data)) + head)
            if self.shared is None:
                self._write(data)
            found, status, size = ANSWER.unpack(self._read(ANSWER.size))
            if found != mark or size > max(request.most, 1 << 16):
                raise _Ended
            apart = self.shared is not None and status == DECODED
            content = bytearray() if apart else self._read(size)
            if self._read(len(mark)) != mark:
                raise _Ended
            if self.shared is not None and apart:
                content = self.shared.take(size)
            if self.shared is not None and max(size, len(data)) > KEPT_SHARED:
                os.ftruncate(self.shared.number, 0)
        except (OSError, EOFError) as error:
            raise _Ended from error
        return status, content

    def _write(self, data: Any) -> None:
        stream, view = self.process.stdin, memoryview(data)
        while stream is not None and len(view):
            view = view[stream.write(view) :]

    def _read(self, size: int) -> bytearray:
        out = bytearray(size)
        stream: Any = self.process.stdout  # unbuffered, so a raw file
        view = memoryview(out)
        while len(view):
            count = stream.readinto(view)
            if not count:
                raise _Ended
            view = view[count:]
        return out

    def _unshare(self) -> None:
        if self.shared is not None:
            os.close(self.shared.number)
            self.shared = None

    def forget(self) -> None:
        """Close the pipes, which ends the child as soon as it has nothing to do, and give the shared memory back."""
        self._unshare()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def end(self) -> None:
        """End the child now."""
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, 9)  # the fork that decodes too: they are a session of their own
            else:
                self.process.kill()
        self.forget()
        self.process.wait()


def shared_memory() -> SharedMemory | None:
    """Memory without a name, which is gone with the last process that has it; None where the system has no such, or
    where the user limits the size of files (``ulimit -f``), which it counts as."""
    if not hasattr(os, "memfd_create"):
        return None
    from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit

    if getrlimit(RLIMIT_FSIZE)[0] != RLIM_INFINITY:
        return None
    with suppress(OSError):
        return SharedMemory(os.memfd_create("byteatlas-chunk"))
    return None


def _widen(*streams: Any) -> None:
    try:
        from fcntl import F_SETPIPE_SZ, fcntl
    except ImportError:  # Linux only
        return
    for stream in streams:
        with suppress(OSError):
            fcntl(stream.fileno(), F_SETPIPE_SZ, PIPE)


class Children:
    """The children of one process for one library. Threads take one each, up to a number, and wait for one then."""

    def __init__(self, library: str) -> None:
        self.library, self.owner = library, os.getpid()
        self._idle: list[_Child] = []
        self._all: set[_Child] = set()
        self._free = threading.BoundedSemaphore(min(MOST_PROCESSES, os.cpu_count() or 1))
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forked)

    def decode(self, request: ChildRequest, data: Any) -> bytearray:
        """The decoded bytes. Raises `CorruptChunk` (it fails, hangs or dies), `Unsupported` (no child can start)."""
        with self._free:
            why = ""
            for _ in range(2):
                child = self._taken()
                warm = child.answered
                try:
                    status, content = child.ask(request, data)
                except _Ended:
                    self._end(child)
                    why = "its decoder ended"
                except BaseException:
                    self._end(child)
                    raise
                else:
                    child.answered = status == DECODED and not request.alone
                    self._idle.append(child)
                    if status == DECODED:
                        return content
                    why = content.decode("utf-8", "replace")
                if not warm:
                    break
                # The chunk before this one may have left damage behind: only what a new process says counts.
            raise CorruptChunk(why)

    def _taken(self) -> _Child:
        try:
            return self._idle.pop()
        except IndexError:
            child = _Child(self.library)
            self._all.add(child)
            return child

    def _end(self, child: _Child) -> None:
        self._all.discard(child)
        child.end()

    def _forked(self) -> None:
        """In a new process: the children are not its own, and must not be kept alive by its copies of their pipes."""
        for child in self._all:
            child.forget()
            child.process.returncode = 0  # there is nothing to wait for
        self._idle.clear()
        self._all.clear()

    def close(self) -> None:
        """End all children."""
        if self.owner == os.getpid():
            self._idle.clear()
            while self._all:
                self._all.pop().end()


def children(library: str) -> Children:
    """Those of this process for a library, or for ``library:function``."""
    return _of(os.getpid(), library)


@cache
def _of(process: int, library: str) -> Children:
    return Children(library)


def decode_apart(
    name: str, data: Any, most: int, shapes: list[JSON] | None = None, **options: Any
) -> NDArray[np.uint8]:
    """What imagecodecs' decoder of this name gives, at most so many bytes of it.

    Raises `CorruptChunk` (it fails, hangs or dies) and `Unsupported` (no child process can be started).
    """
    request = ChildRequest("imagecodecs", f"{name}_decode", most, options, shapes, name not in KEPT)
    return np.frombuffer(children(f"imagecodecs:{name}_decode").decode(request, data), np.uint8)
