"""Write a selection, chunk by chunk. One that is written in part is read, changed and written back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.decoding.pipelines import Pipelines
from byteatlas.array.reading.fetching.pool import ReadScratch, run_tasks
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.array.reading.opening import fill_of
from byteatlas.array.reading.planning.orthogonal import ReadPlan
from byteatlas.array.reading.scattering.assign import put, take
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.store.base import WritableStore
from byteatlas.store.nodes import StoredArray
from byteatlas.types import Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class ChunkWriter:
    """Puts the chunks of one array into its store. Each key is set at once.

    ``keep_empty``: chunks that hold the fill value only are written too.
    """

    store: WritableStore
    meta: ArrayMeta
    locator: StoreLocator
    pipelines: Pipelines
    keep_empty: bool

    @staticmethod
    def of(
        store: WritableStore, path: str, meta: ArrayMeta, registry: Mapping[str, Any] | None, empty_chunks: bool
    ) -> ChunkWriter:
        # Without a fill value, version 2 does not say what a chunk that is left out reads as.
        keep = empty_chunks or (meta.zarr_format == 2 and meta.fill_value is None)
        locator = StoreLocator.of(store, path, StoredArray(meta))
        return ChunkWriter(store, meta, locator, Pipelines(meta, registry), keep)

    def write(self, plan: ReadPlan, values: NDArray[Any], threads: int) -> None:
        """Write a selection. ``values``: as `ReadPlan.laid_out` gives them."""
        chunks, whole = plan.chunks(), plan.whole()

        def task(row: int, scratch: ReadScratch) -> None:
            self._write(plan, row, int(chunks[row]), bool(whole[row]), values)

        run_tasks(len(chunks), task, threads)

    def _write(self, plan: ReadPlan, row: int, chunk: int, whole: bool, values: NDArray[Any]) -> None:
        pipeline = self.pipelines.at(0, chunk)
        inside, source = plan.places(row)
        key = self.locator.sources.key(chunk)
        old = None if whole else self.store.get(key, self.locator.sources.most)
        fill = fill_of(self.meta)
        if old is None:
            block = np.empty(pipeline.shape, self.meta.data_type.numpy)
            block[...] = fill
        else:
            block = np.array(pipeline.decode(old))
        put(block, inside, take(values, source))
        if not self.keep_empty and is_fill(block, fill):
            self.store.delete(key)
        else:
            self.store.set(key, pipeline.encode(block))

    def remove_outside(self, shape: Shape) -> None:
        """Remove the chunks that lie wholly outside of a smaller shape."""
        keep = chunk_counts(shape, self.meta.grid)
        counts = chunk_counts(self.meta.shape, self.meta.grid)
        for chunk in range(int(np.prod(counts, dtype=object)) if counts else 0):
            index = np.unravel_index(chunk, counts)
            if any(int(i) >= n for i, n in zip(index, keep, strict=True)):
                self.store.delete(self.locator.sources.key(chunk))


def is_fill(block: NDArray[Any], fill: Any) -> bool:
    """Whether a chunk holds nothing but the fill value, bit for bit where that matters (NaN, -0.0)."""
    if block.dtype.hasobject:
        value = fill.item()
        if not isinstance(value, (str, bytes)):
            return False
        return all(type(v) is type(value) and v == value for v in block.reshape(-1).tolist())
    first = np.empty((), block.dtype)
    first[...] = fill
    bits = np.ascontiguousarray(block).reshape(-1).view(np.uint8)
    pattern = first.reshape(1).view(np.uint8)
    if block.dtype.itemsize == 0:
        return True
    return bool((bits.reshape(-1, block.dtype.itemsize) == pattern).all())
