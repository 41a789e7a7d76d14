"""Arrays in memory for tests of the engine: any grid, any codecs, chunks at odd offsets, some of them missing."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs import build_pipeline
from byteatlas.io.source import Source
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, SourceInfo, VirtualArray
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.grid import boundaries, chunk_counts, chunk_shape_at
from byteatlas.meta.model import ArrayMeta, ChunkGrid, CodecSpec, DataType, Encoding
from byteatlas.types import ByteRange

RAW = (CodecSpec("bytes", {"endian": "little"}),)
ZLIB = (*RAW, CodecSpec("numcodecs.zlib", {"level": 1}))


class ReadInto(MemorySource):
    """A source that also fills buffers, as local files do."""

    def read_into(self, offset: int, out: memoryview) -> None:
        out[:] = self.read([ByteRange(offset, len(out))])[0]


def virtual(
    data: NDArray[Any],
    grid: ChunkGrid,
    encodings: Sequence[Encoding],
    *,
    seed: int = 0,
    fill: Any = 7,
    missing: float = 0.1,
    inline: float = 0.05,
    data_type: DataType | None = None,
    url: str = "memory:file",
) -> tuple[VirtualArray, bytes, NDArray[Any]]:
    """A virtual array that holds ``data``, the file its chunks lie in, and what it must read as."""
    rng = random.Random(seed)
    counts = chunk_counts(data.shape, grid)
    total = math.prod(counts)
    kind = data_type or from_numpy(data.dtype)
    expected, file = np.array(data), bytearray(b"head")
    source = np.zeros(total, np.int32)
    offset, length = np.zeros(total, np.uint64), np.zeros(total, np.uint64)
    which = np.array([rng.randrange(len(encodings)) for _ in range(total)], np.uint16)
    inlined: dict[int, bytes] = {}
    edges = [boundaries(n, grid, axis) for axis, n in enumerate(data.shape)]
    for chunk in rng.sample(range(total), total):
        index = tuple(int(i) for i in np.unravel_index(chunk, counts)) if counts else ()
        where = tuple(slice(int(e[i]), int(e[i + 1])) for e, i in zip(edges, index, strict=True))
        draw = rng.random()
        if draw < missing:
            expected[where] = fill
            source[chunk] = MISSING
            continue
        encoding = encodings[int(which[chunk])]
        shape = encoding.chunk_shape or chunk_shape_at(grid, index)
        pipeline = build_pipeline(encoding, kind, shape, fill)
        block = np.zeros(pipeline.shape, pipeline.dtype)
        part = data[where]
        block[tuple(slice(0, n) for n in part.shape)] = part
        encoded = bytes(pipeline.encode(block))
        if draw < missing + inline:
            source[chunk], inlined[chunk] = INLINE, encoded
            continue
        file += bytes(rng.randrange(3))
        offset[chunk], length[chunk] = len(file), len(encoded)
        file += encoded
    meta = ArrayMeta(data.shape, kind, grid, tuple(encodings), data.dtype.type(fill))
    column = which if len(encodings) > 1 else None
    manifest = ChunkManifest(counts, (SourceInfo(url),), source, offset, length, column, inlined)
    return VirtualArray(meta, manifest), bytes(file), expected


def opener(file: bytes, kind: type[MemorySource] = ReadInto) -> Any:
    """Every URL is this file."""

    def open_it(url: str) -> Source:
        return kind(file, url)

    return open_it
