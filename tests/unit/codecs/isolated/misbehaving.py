"""Decoders that misbehave as native ones do, for a child process."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path


def same(data: bytes) -> bytes:
    return data


def process(data: bytes) -> bytes:
    return os.getpid().to_bytes(8, "little")


def die(data: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return data


def spin(data: bytes) -> bytes:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        pass
    return data


def sleep(data: bytes) -> bytes:
    ctypes.PyDLL(None).sleep(120)  # holds the interpreter's lock, as native code may
    return data


def greedy(data: bytes) -> bytes:
    return bytes(4 << 30)


def fail(data: bytes) -> bytes:
    raise ValueError("not a stream")


def long(data: bytes) -> bytes:
    return data * 3


def dies_at_second_call(data: bytes, path: str) -> bytes:
    """Fine in a process that has not decoded before, deadly in one that has (`path`: where it notes its process)."""
    note = Path(path)
    if note.exists() and note.read_text() == str(os.getpid()):
        os.abort()
    note.write_text(str(os.getpid()))
    return data


def shared_memory() -> int:
    """The memory that this process and the one that asked share."""
    for link in Path("/proc/self/fd").iterdir():
        if "byteatlas-chunk" in str(link.resolve()):
            return int(link.name)
    raise LookupError


def cuts_off(data: bytes) -> bytes:
    """Takes the memory away that both processes share."""
    os.ftruncate(shared_memory(), 0)
    return data


def fills(data: bytes) -> bytes:
    """Puts more into the memory that both processes share than a chunk may have."""
    os.ftruncate(shared_memory(), 1 << 40)
    return data
