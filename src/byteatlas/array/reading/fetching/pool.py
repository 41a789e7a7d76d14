"""Threads that work through numbered tasks, each with buffers of its own."""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Unsupported
from byteatlas.types import Shape


class ReadScratch:
    """Buffers that one thread uses again and again during one read."""

    __slots__ = ("_array", "_block", "_limit")

    def __init__(self, limit: int = 1 << 40) -> None:
        self._limit = limit
        self._block = np.empty(0, np.uint8)
        self._array = np.empty(0, np.uint8)

    def block(self, nbytes: int) -> memoryview:
        """A buffer for fetched bytes; overwritten by the next call."""
        if len(self._block) < nbytes:
            self._block = np.empty(nbytes, np.uint8)
        return self._block.data[:nbytes]

    def array(self, shape: Shape, dtype: np.dtype[Any]) -> NDArray[Any]:
        """An uninitialised array; overwritten by the next call. Raises `Unsupported` when it is absurdly large."""
        need = math.prod(shape) * dtype.itemsize
        if need > self._limit:
            raise Unsupported("too-large", f"a chunk of shape {shape} takes {need} bytes")
        if len(self._array) < need:
            self._array = np.empty(need, np.uint8)
        return self._array[:need].view(dtype).reshape(shape)


NumberedTask = Callable[[int, ReadScratch], None]


@lru_cache(maxsize=8)
def _executor(pid: int, threads: int) -> ThreadPoolExecutor:
    # Keyed by process: after a fork the parent's threads do not exist.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"byteatlas-{pid}")


def run_tasks(total: int, work: NumberedTask, threads: int, limit: int = 1 << 40) -> None:
    """Call ``work(number, scratch)`` for all numbers below ``total``, on up to ``threads`` threads.

    The numbers are handed out in order. The first error (by number, of those that occurred) is raised once no thread
    works any more; numbers not yet handed out are dropped then. ``limit``: most bytes of one scratch array.
    """
    threads = min(threads, total)
    if threads <= 1:
        scratch = ReadScratch(limit)
        for number in range(total):
            work(number, scratch)
        return
    numbers = itertools.count()  # next() on it is atomic
    failed: list[tuple[int, BaseException]] = []

    def loop() -> None:
        scratch = ReadScratch(limit)
        for number in numbers:
            if number >= total or failed:
                return
            try:
                work(number, scratch)
            except BaseException as error:  # handed to the caller, whatever it is
                failed.append((number, error))
                return

    executor = _executor(os.getpid(), 1 << (threads - 1).bit_length())
    futures = [executor.submit(loop) for _ in range(threads)]
    try:
        for future in futures:
            future.result()
    except BaseException as error:  # an interrupt: the threads must not go on writing into the caller's memory
        failed.append((-1, error))
        wait(futures)
    if failed:
        raise min(failed, key=lambda f: f[0])[1]


class Decoders:
    """Threads that decode, few, while many others wait for the network.

    Decoding is done by threads of its own, so that the many do not each keep memory for it.
    """

    __slots__ = ("_count", "_idle", "_limit")

    def __init__(self, count: int, limit: int) -> None:
        self._count, self._idle, self._limit = count, list[ReadScratch](), limit

    def run(self, work: Callable[[ReadScratch], None]) -> None:
        """Have this done, and wait for it. Raises what it raises."""
        _decoding(os.getpid(), self._count).submit(self._one, work).result()

    def _one(self, work: Callable[[ReadScratch], None]) -> None:
        scratch = self._idle.pop() if self._idle else ReadScratch(self._limit)
        try:
            work(scratch)
        finally:
            self._idle.append(scratch)


@lru_cache(maxsize=8)
def _decoding(pid: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix=f"byteatlas-decode-{pid}")


class Budget:
    """Bytes that may be fetched and not decoded yet, where sizes are known only after fetching.

    Each fetch is reckoned with the size of the largest so far; one is always allowed.
    """

    __slots__ = ("_changed", "_held", "_largest", "_limit", "_seen")

    def __init__(self, limit: int, guess: int) -> None:
        self._limit, self._largest, self._held = limit, guess, 0
        self._seen = False
        self._changed = threading.Condition()

    @contextmanager
    def fetched(self) -> Iterator[Callable[[int], None]]:
        """Wait for room; the function that is yielded is told the size once it is known."""
        with self._changed:
            self._changed.wait_for(lambda: not self._held or self._held + self._largest <= self._limit)
            held = self._largest
            self._held += held

        def known(nbytes: int) -> None:
            nonlocal held
            with self._changed:
                if nbytes:  # one that does not exist says nothing about the others
                    self._largest = max(self._largest, nbytes) if self._seen else nbytes
                    self._seen = True
                self._held += nbytes - held
                held = nbytes
                self._changed.notify_all()

        try:
            yield known
        finally:
            with self._changed:
                self._held -= held
                self._changed.notify_all()
