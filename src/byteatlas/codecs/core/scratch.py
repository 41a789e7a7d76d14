"""Buffers that a thread keeps between chunks, so that decoding does not allocate. Bounded in number and size."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

KEPT = 2
LARGEST = 8 << 20
"""Bytes of the largest buffer that is kept."""


class ThreadBuffers(threading.local):
    """Per-thread buffers by key. A buffer that is taken is the taker's alone until it is given back with `keep`."""

    def __init__(self) -> None:
        self.kept: dict[Any, NDArray[np.uint8]] = {}

    def take(self, key: Any) -> NDArray[np.uint8] | None:
        return self.kept.pop(key, None)

    def keep(self, key: Any, buffer: NDArray[np.uint8]) -> None:
        if buffer.nbytes > LARGEST:
            return
        while len(self.kept) >= KEPT:
            self.kept.pop(next(iter(self.kept)))
        self.kept[key] = buffer


SCRATCH = ThreadBuffers()
"""The one place where state outlives a call: memory without content, one set per thread."""
