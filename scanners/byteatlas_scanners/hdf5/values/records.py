"""A dataset's own bytes, read while scanning: the records that point to variable-length values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import buffers
from byteatlas.types import Buffer, ByteRange, Shape
from byteatlas.values import dataclass
from byteatlas_scanners.hdf5.filters.blocks import Filtered, unfiltered
from byteatlas_scanners.hdf5.filters.message import FilterPipeline
from byteatlas_scanners.hdf5.format.types import Datatype
from byteatlas_scanners.hdf5.values.fillvalue import Fill

BATCH = 32 << 20
"""Bytes of chunks that are fetched at once."""


@dataclass(frozen=True, slots=True)
class Records:
    """Where the records of a dataset lie.

    Attributes:
        masks: the filter mask of each encoding in ``manifest``.
    """

    dt: Datatype
    shape: Shape
    chunk: Shape
    pipeline: FilterPipeline
    masks: tuple[int, ...]
    fill: Fill
    manifest: ChunkManifest


def elements(records: Records) -> Parse[bytes]:
    """The dataset's own bytes, in C order, missing chunks filled."""
    size, shape, chunk = records.dt.size, records.shape, records.chunk
    fill = records.fill.effective
    element = fill if fill is not None and len(fill) == size else bytes(size)
    count = math.prod(shape)
    out = np.frombuffer(bytearray(element * count), f"V{size}").reshape(shape)
    manifest = records.manifest
    rows: list[int] = np.flatnonzero(manifest.source != MISSING).tolist()
    steps = math.prod(chunk) * size
    per = max(1, BATCH // max(1, steps))
    for first in range(0, len(rows), per):
        some = rows[first : first + per]
        blocks = yield from _blocks(manifest, some)
        if records.pipeline.filters:
            blocks = yield from _unfiltered(records, some, blocks, steps)
        for row, raw in zip(some, blocks, strict=True):
            if len(raw) < steps:
                raise CorruptFile(int(manifest.offset[row]), f"a chunk of {len(raw)} bytes instead of {steps}")
            _place(out, np.frombuffer(raw, out.dtype, math.prod(chunk)).reshape(chunk), row, manifest.grid_shape)
    return out.tobytes()


def _unfiltered(records: Records, rows: Sequence[int], blocks: Sequence[Buffer], size: int) -> Parse[list[Buffer]]:
    """Chunks of ``size`` bytes before filters."""
    numbers = records.manifest.encoding
    stored = [
        Filtered(
            records.masks[0 if numbers is None else int(numbers[row])], block, size, int(records.manifest.offset[row])
        )
        for row, block in zip(rows, blocks, strict=True)
    ]
    return (yield from unfiltered(records.pipeline, stored, records.dt, records.chunk))


def _blocks(manifest: ChunkManifest, rows: Sequence[int]) -> Parse[list[Buffer]]:
    asks = [
        ByteRange(int(manifest.offset[row]), int(manifest.length[row]))
        for row in rows
        if manifest.source[row] != INLINE
    ]
    answers = iter(buffers((yield asks)) if asks else ())
    return [manifest.inlined[row] if manifest.source[row] == INLINE else next(answers) for row in rows]


def _place(out: NDArray[Any], block: NDArray[Any], row: int, grid: Shape) -> None:
    index = np.unravel_index(row, grid) if grid else ()
    begin = [int(i) * c for i, c in zip(index, block.shape, strict=True)]
    where = tuple(slice(b, b + c) for b, c in zip(begin, block.shape, strict=True))
    place: tuple[Any, ...] = (*where, ...)  # a view, also of a scalar
    target: NDArray[Any] = out[place]
    target[...] = block[tuple(slice(0, n) for n in target.shape)]
