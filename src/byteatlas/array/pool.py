"""Threads that work through numbered tasks, each with buffers of its own."""

from __future__ import annotations

import itertools
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Unsupported
from byteatlas.types import Shape


class Scratch:
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


Work = Callable[[int, Scratch], None]


@lru_cache(maxsize=8)
def _executor(pid: int, threads: int) -> ThreadPoolExecutor:
    # Keyed by process: after a fork the parent's threads do not exist.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"byteatlas-{pid}")


def run_tasks(total: int, work: Work, threads: int, limit: int = 1 << 40) -> None:
    """Call ``work(number, scratch)`` for all numbers below ``total``, on up to ``threads`` threads.

    The numbers are handed out in order. The first error (by number, of those that occurred) is raised once no thread
    works any more; numbers not yet handed out are dropped then. ``limit``: most bytes of one scratch array.
    """
    threads = min(threads, total)
    if threads <= 1:
        scratch = Scratch(limit)
        for number in range(total):
            work(number, scratch)
        return
    numbers = itertools.count()  # next() on it is atomic
    failed: list[tuple[int, BaseException]] = []

    def loop() -> None:
        scratch = Scratch(limit)
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


def slots(count: int) -> threading.Semaphore:
    """A limit on how many threads decode at once while many more wait for the network."""
    return threading.Semaphore(count)
