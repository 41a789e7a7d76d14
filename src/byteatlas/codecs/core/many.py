"""Many tiny chunks at once: what is done for each of them is one call of a decoder, and nothing else.

Putting 256 bytes into an array by themselves costs more than inflating them. Here every byte codec takes and gives a
whole list; the results are joined and seen as one array. Whatever is not as it should be (a decoder that fails, a
chunk of another length) ends the batch: its chunks are then decoded one by one, so that the error names the right one.

This second way beside ``decode`` pays in ``tests.bench reading``: "read 100000 chunks of 256 bytes".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import Bytes, ByteStep
from byteatlas.errors import CorruptChunk

TINY = 4096
"""Chunks that decode to at most this many bytes are decoded together: joining copies every byte once more."""

Many = Callable[[Sequence[Bytes]], NDArray[np.uint8] | None]


def compile_many(steps: tuple[ByteStep, ...], nbytes: int) -> Many | None:
    """A function from encoded chunks to rows of ``nbytes`` bytes; None when a codec takes them only one by one.

    The function itself gives None for a batch that has to be decoded one by one.
    """
    if nbytes > TINY:
        return None
    chain: list[Callable[[Sequence[Bytes]], Sequence[Bytes]]] = []
    for step in reversed(steps):
        if step.many is None:
            return None
        chain.append(step.many)

    def many(values: Sequence[Bytes]) -> NDArray[np.uint8] | None:
        total = len(values)
        try:
            for decode in chain:
                values = decode(values)
        except CorruptChunk:
            return None
        return same_rows(values, nbytes) if len(values) == total else None

    return many


def same_rows(values: Sequence[Bytes] | NDArray[Any], nbytes: int) -> NDArray[np.uint8] | None:
    """Values as rows of an array (n, nbytes); None when one has another length."""
    if isinstance(values, np.ndarray):
        return values if values.shape[1] == nbytes else None
    if set(map(len, values)) != {nbytes}:
        return None
    return np.frombuffer(b"".join(values), np.uint8).reshape(len(values), nbytes)
