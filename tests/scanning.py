"""Run a scanner on bytes, and read an uncompressed virtual array by hand: the engine takes no part."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.chunks import read_chunks

from byteatlas.errors import Absent
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import Encoding
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

    def plain(encoding: Encoding, shape: tuple[int, ...], raw: Any) -> NDArray[Any]:
        (codec,) = encoding.codecs
        assert codec.name == "bytes"
        stored = array.meta.data_type.numpy.newbyteorder(">" if codec.configuration.get("endian") == "big" else "<")
        return np.frombuffer(raw, stored).reshape(encoding.chunk_shape or shape)

    return read_chunks(array, data, plain)
