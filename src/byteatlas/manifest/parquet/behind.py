"""Part files made in other threads, while the rows of the next ones are read."""

from __future__ import annotations

import math
import os
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from byteatlas.io.output import Folder
from byteatlas.manifest.parquet.marks import MarkedParts
from byteatlas.manifest.tree import WrittenArray

if TYPE_CHECKING:
    from concurrent.futures import Future
    from types import TracebackType

WORTH_A_THREAD = 1 << 15
"""Rows of a part file that take longer to be encoded than a thread takes to be told."""
MOST_THREADS = 4


class Behind:
    """A folder that part files are put into as soon as they are encoded; the end of the block waits for all of them.

    There are never more part files in memory than threads, and one. A small map is encoded by the caller's own thread.

    Attributes:
        mark: what each part file has in its metadata (`byteatlas.manifest.parquet.marks`); empty = nothing.
        names: of all part files so far.
    """

    def __init__(self, folder: Folder, arrays: Sequence[WrittenArray]) -> None:
        self._folder = folder
        self.mark = folder.mark if isinstance(folder, MarkedParts) else ""
        self.names: list[str] = []
        self._waiting: deque[tuple[str, Future[Any]]] = deque()
        rows = sum(math.prod(array.manifest.grid_shape) for array in arrays)
        self._threads = min(max((os.cpu_count() or 1) - 1, 1), MOST_THREADS) if rows > 2 * WORTH_A_THREAD else 0
        self._pool: Any = None

    def __enter__(self) -> Behind:
        if self._threads:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads)  # a thread begins when it is needed
        return self

    def put(self, name: str, rows: int, encode: Callable[[], Any]) -> None:
        """A part file of so many rows, which ``encode`` gives the bytes of."""
        self.names.append(name)
        if self._pool is None or rows < WORTH_A_THREAD:
            self._folder.put(name, encode())
            return
        self._waiting.append((name, self._pool.submit(encode)))
        while len(self._waiting) > self._threads:
            self._write_oldest()

    def _write_oldest(self) -> None:
        name, encoded = self._waiting.popleft()
        self._folder.put(name, encoded.result())

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            while self._waiting and error is None:
                self._write_oldest()
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
