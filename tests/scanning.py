"""Run a scanner on bytes, and read an uncompressed virtual array by hand: the engine takes no part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Absent
from byteatlas.io.memory import MemorySource
from byteatlas.manifest.model import MISSING, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.grid import chunk_counts, chunk_shape_at
from byteatlas.scanning.contract import Ask, Scanner, ScanOptions
from byteatlas.scanning.duties import complete
from byteatlas.scanning.feed import Feed


def scan_bytes(
    scanner: Scanner, data: bytes, options: ScanOptions | None = None, batches: list[list[Ask]] | None = None
) -> VirtualGroup:
    """What the scanner makes of a file's bytes; ``batches`` collects what it asked for, step by step."""
    parser = complete(scanner, SourceInfo("memory://file", len(data)), options or ScanOptions())
    feed = Feed(MemorySource(data, "memory://file"), _nothing_else)
    try:
        asks = next(parser)
        while True:
            if batches is not None:
                batches.append(list(asks))
            asks = parser.send(feed.answer(asks))
    except StopIteration as stop:
        group: VirtualGroup = stop.value
        return group


def _nothing_else(url: str) -> Any:
    raise Absent(url)


def read_plain(array: VirtualArray, data: bytes) -> NDArray[Any]:
    """The values of an array whose only codec is ``bytes``."""
    meta = array.meta
    out = np.zeros(meta.shape, meta.data_type.numpy)
    if meta.fill_value is not None:
        out[...] = meta.fill_value
    counts = chunk_counts(meta.shape, meta.grid)
    total = int(np.prod(counts, dtype=np.int64))
    rows = array.manifest.rows(np.arange(total, dtype=np.int64))
    for k in range(total):
        if rows.source[k] == MISSING:
            continue
        index = tuple(int(i) for i in np.unravel_index(k, counts)) if counts else ()
        encoding = meta.encodings[0 if rows.encoding is None else int(rows.encoding[k])]
        (codec,) = encoding.codecs
        assert codec.name == "bytes"
        stored = meta.data_type.numpy.newbyteorder(">" if codec.configuration.get("endian") == "big" else "<")
        full = chunk_shape_at(meta.grid, index)
        start, length = int(rows.offset[k]), int(rows.length[k])
        raw = data[start : start + length]
        chunk = np.frombuffer(raw, stored).reshape(encoding.chunk_shape or full)
        where = tuple(slice(i * c, min((i + 1) * c, n)) for i, c, n in zip(index, full, meta.shape, strict=True))
        out[where] = chunk[tuple(slice(0, s.stop - s.start) for s in where)]
    return out
