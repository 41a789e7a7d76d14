"""One array as plain, regular Zarr."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array
from byteatlas.array.reading.fetching.pool import ReadScratch, run_tasks
from byteatlas.array.reading.opening import fill_of
from byteatlas.array.writing.copy import mask_of
from byteatlas.array.writing.create import default_chunks
from byteatlas.codecs import Pipeline, build_pipeline
from byteatlas.meta import fill
from byteatlas.meta.grid import boundaries, chunk_counts
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, DataType, Encoding, RegularGrid
from byteatlas.normalised.boxes import ChunkBox, boxes
from byteatlas.normalised.options import NormaliseOptions
from byteatlas.normalised.types import serializer, standard_type
from byteatlas.types import JSON, Shape
from byteatlas.values import replace


class NormalisedArray:
    """An array, its metadata as it is served, and its chunks. Safe to use from many threads.

    Args:
        dims: the names of its dimensions.
        shape: as it is served. It may be longer than the array's; the rest reads as the fill value.

    Raises `Unsupported` for data types that plain Zarr does not have.
    """

    __slots__ = ("_most", "_pipeline", "meta", "source")

    def __init__(self, source: Array, dims: tuple[str, ...], shape: Shape, options: NormaliseOptions) -> None:
        data_type = standard_type(source.meta.data_type, options.zarr_format)
        chunks = _chunk_shape(source, options)
        codecs = (serializer(data_type), *_compression(options, data_type))
        encoding = Encoding(codecs)
        three = options.zarr_format == 3
        self.source = source
        self.meta = replace(
            source.meta,
            shape=shape,
            data_type=data_type,
            grid=RegularGrid(chunks),
            encodings=(encoding,),
            fill_value=_fill(source, data_type) if three else mask_of(replace(source.meta, data_type=data_type)),
            dimension_names=dims,
            keys=ChunkKeys("default", "/") if three else ChunkKeys("v2", "."),
            zarr_format=options.zarr_format,
        )
        self._pipeline: Pipeline = build_pipeline(encoding, data_type, chunks, self.meta.fill_value)
        self._most = max(1, options.most_read // max(self._pipeline.nbytes or options.most_chunk, 1))

    @property
    def counts(self) -> Shape:
        """Chunks along each axis."""
        return chunk_counts(self.meta.shape, self.meta.grid)

    def chunk(self, position: Shape) -> bytes:
        """The bytes of the chunk at a position of the grid. Raises what reading raises."""
        return self.chunks([position])[position]

    def chunks(self, positions: Sequence[Shape]) -> dict[Shape, bytes]:
        """Several chunks by position, read in as few plans as there are boxes of them."""
        out: dict[Shape, bytes] = {}
        for box in boxes(positions, self._most):
            out.update(self._box(box))
        return out

    def _box(self, box: ChunkBox) -> dict[Shape, bytes]:
        assert isinstance(self.meta.grid, RegularGrid)
        chunk_shape = self.meta.grid.chunk_shape
        values = self._read(box, chunk_shape)
        places = list(itertools.product(*(range(len(axis)) for axis in box.positions)))
        found: list[bytes] = [b""] * len(places)

        def encode(number: int, scratch: ReadScratch) -> None:
            inside = zip(places[number], chunk_shape, strict=True)
            where: tuple[Any, ...] = tuple(slice(i * n, (i + 1) * n) for i, n in inside)
            part = values[(*where, ...)]  # an array, without axes too
            found[number] = self._pipeline.encode(np.ascontiguousarray(part).reshape(chunk_shape))

        run_tasks(len(places), encode, self.source.options.workers())
        positions = itertools.product(*box.positions)
        return dict(zip(positions, found, strict=True))

    def _read(self, box: ChunkBox, chunk_shape: Shape) -> NDArray[Any]:
        """The values of a box, whole chunks one after the other; beyond the array's end its fill value."""
        source = self.source
        wanted = [_elements(axis, n) for axis, n in zip(box.positions, chunk_shape, strict=True)]
        inside = [at < n for at, n in zip(wanted, source.shape, strict=True)]
        whole = all(bool(i.all()) for i in inside)
        selection = tuple(_selection(at[i]) for at, i in zip(wanted, inside, strict=True))
        empty = any(not i.any() for i in inside)
        if whole:
            return source.read_orthogonal(selection).astype(self.meta.data_type.numpy, copy=False)
        out = np.empty([len(at) for at in wanted], self.meta.data_type.numpy)
        out[...] = fill_of(source.meta)
        if not empty:
            # What is inside comes first along each axis only in the last chunk, which is the last in a box.
            ends = tuple(slice(0, int(i.sum())) for i in inside)
            out[ends] = source.read_orthogonal(selection)
        return out


def _elements(chunks: tuple[int, ...], n: int) -> NDArray[np.int64]:
    """The positions along an axis that these chunks of length ``n`` cover."""
    return (np.array(chunks, np.int64)[:, None] * n + np.arange(n, dtype=np.int64)).reshape(-1)


def _selection(at: NDArray[np.int64]) -> slice | NDArray[np.int64]:
    """A slice where positions follow one another."""
    if len(at) and int(at[-1]) - int(at[0]) + 1 == len(at):
        return slice(int(at[0]), int(at[-1]) + 1)
    return at


def _compression(options: NormaliseOptions, data_type: DataType) -> tuple[CodecSpec, ...]:
    two = options.zarr_format == 2
    match options.compression:
        case None:
            return ()
        case "zstd":
            if two:
                return (CodecSpec("numcodecs.zstd", {"level": options.level}),)
            return (CodecSpec("zstd", {"level": options.level, "checksum": False}),)
        case "lz4":
            return (_blosc(data_type, two=two),)


def _blosc(data_type: DataType, *, two: bool) -> CodecSpec:
    """Blosc's LZ4 (v3 core, "Blosc codec"): bytes are shuffled where elements are numbers of several bytes."""
    size = 1 if data_type.numpy.hasobject or data_type.numpy.kind not in "iufcmM" else data_type.numpy.itemsize
    common: dict[str, JSON] = {"cname": "lz4", "clevel": 1, "blocksize": 0}
    if two:
        return CodecSpec("numcodecs.blosc", {**common, "shuffle": int(size > 1)})
    return CodecSpec("blosc", {**common, "shuffle": "shuffle" if size > 1 else "noshuffle", "typesize": size})


def _fill(source: Array, data_type: Any) -> object:
    value = fill.default(source.meta.data_type) if source.meta.fill_value is None else source.meta.fill_value
    return value if data_type.numpy.hasobject else np.asarray(value).astype(data_type.numpy)[()]


def _chunk_shape(source: Array, options: NormaliseOptions) -> Shape:
    """The chunks of the source; the longest along each axis where they differ. Large raw ones are cut."""
    meta = source.meta
    regular = all(isinstance(n, int) for n in source.chunks)
    if not regular:
        edges = [np.diff(boundaries(n, meta.grid, i)) for i, n in enumerate(meta.shape)]
        return tuple(max(1, int(e.max(initial=1))) for e in edges)
    chunks = tuple(max(1, int(n)) for n in source.chunks)
    itemsize = max(source.dtype.itemsize, 1)
    if math.prod(chunks) * itemsize > options.most_chunk and source.shards is None and _is_raw(meta, chunks):
        return default_chunks(chunks, itemsize)
    return chunks


def _is_raw(meta: ArrayMeta, chunks: Shape) -> bool:
    """Whether parts of its chunks can be read by themselves."""
    encoding = meta.encodings[0]
    if len(meta.encodings) > 1 or encoding.chunk_shape not in (None, chunks):
        return False
    return build_pipeline(encoding, meta.data_type, chunks, meta.fill_value).raw is not None
