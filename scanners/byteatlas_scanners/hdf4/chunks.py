"""Chunked elements: the table of chunks, a Vdata, as a manifest."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile, Unsupported
from byteatlas.manifest.kinds.joined import joined_chunks
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo
from byteatlas.meta.model import CodecSpec, Encoding
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.parsers import all_of, read
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange, Shape
from byteatlas_scanners.hdf4.file import MOST_RECORD, Hdf4File
from byteatlas_scanners.hdf4.format.directory import NOWHERE, Directory
from byteatlas_scanners.hdf4.format.elements import ChunkedElement, find_stored, load_one
from byteatlas_scanners.hdf4.format.tags import SPECIAL, ElementTag, Special
from byteatlas_scanners.hdf4.format.vdata import BY_RECORD, Vdata
from byteatlas_scanners.hdf4.storage import ElementPlacement, ElementRanges, compression_codec, grid_of, stored_ranges

CLASS = "_HDF_CHK_TBL_0"
MOST_CHUNKS = 1 << 26
DESCRIPTION, LONGEST_DESCRIPTION = 14, 64
"""Bytes of a compressed element's description: up to the coder's own numbers, and at most."""
NEAR, MOST_TOGETHER = 8 << 10, 128
"""Descriptions that begin within so many bytes of each other are read together, so many at most."""


class ListedChunks(NamedTuple):
    """Chunks of the table: their places in the grid, and the keys of their elements."""

    flat: NDArray[np.int64]
    keys: NDArray[np.int64]


def place_chunks(
    file: Hdf4File, element: ChunkedElement, shape: Shape, serializer: CodecSpec
) -> Parse[ElementPlacement]:
    """A chunked dataset. Raises `CorruptFile`, `Unsupported`."""
    _check(element, shape)
    codec = None if element.compression is None else compression_codec(element.compression, element.itemsize)
    encodings = (Encoding((serializer,) if codec is None else (serializer, codec)),)
    grid = grid_of(shape, element.chunk)
    if math.prod(grid) > MOST_CHUNKS:
        raise Unsupported(Reason.TOO_LARGE, f"{math.prod(grid)} chunks")
    listed = yield from _listed(file, element, grid)
    fill = element.fill if len(element.fill) == element.itemsize else None
    manifest = yield from _manifest(file.directory, file.source, element, listed, grid)
    return ElementPlacement(element.chunk, encodings, manifest, fill)


def _check(element: ChunkedElement, shape: Shape) -> None:
    if len(element.shape) != len(shape) or element.shape[1:] != shape[1:]:
        raise CorruptFile(0, f"chunks of an array of shape {element.shape} for one of shape {shape}")
    if element.length != math.prod(element.shape) * element.itemsize and not any(element.unlimited):
        raise CorruptFile(0, f"{element.length} bytes of an array of shape {element.shape}")
    if element.shape[:1] != shape[:1] and not element.unlimited[0]:
        raise CorruptFile(0, f"chunks of an array of shape {element.shape} for one of shape {shape}")


def _listed(file: Hdf4File, element: ChunkedElement, grid: Shape) -> Parse[ListedChunks]:
    """The chunks that were written and lie inside of the array; of two at one place the first counts."""
    table = file.table(element.table)
    if table is None or table.kind != CLASS or table.interlace != BY_RECORD:
        raise CorruptFile(0, f"the table of chunks (Vdata {element.table}) is not there")
    raw = yield from load_one(file.directory, ElementTag.VDATA, element.table, MOST_RECORD)
    if not table.count:
        return ListedChunks(np.zeros(0, np.int64), np.zeros(0, np.int64))
    if len(raw) < table.count * table.record:
        raise CorruptFile(0, f"{len(raw)} bytes of a table of {table.count} chunks")
    records = np.frombuffer(raw, _record(table, len(grid)), table.count)
    origin = records["origin"].astype(np.int64).reshape(len(records), len(grid))
    tags = records["tag"].astype(np.int64)
    inside = ((origin >= 0) & (origin < np.array(grid))).all(axis=1) & (tags != ElementTag.NULL)
    tags = tags & ~SPECIAL
    if (tags[inside] != ElementTag.CHUNK).any():
        raise Unsupported(Reason.LAYOUT, "chunks that are tables of chunks")
    flat = np.ravel_multi_index(tuple(origin[inside].T), grid) if len(grid) else np.zeros(int(inside.sum()), np.int64)
    flat, first = np.unique(flat, return_index=True)
    return ListedChunks(flat.astype(np.int64), (tags << 16 | records["ref"].astype(np.int64))[inside][first])


def _record(table: Vdata, rank: int) -> np.dtype[np.void]:
    """Origin, tag and reference number, as the table's fields have them."""
    by_name = {field.name: field for field in table.fields}
    try:
        origin, tag, ref = (by_name[name] for name in ("origin", "chk_tag", "chk_ref"))
    except KeyError as error:
        raise CorruptFile(0, f"a table of chunks without the field {error}") from error
    ends = (origin.offset + 4 * rank, tag.offset + 2, ref.offset + 2)
    if origin.order != rank or max(ends) > table.record:
        raise CorruptFile(0, f"a table of chunks in {origin.order} dimensions, not {rank}")
    return np.dtype(
        {
            "names": ["origin", "tag", "ref"],
            "formats": [(">i4", (rank,)), ">u2", ">u2"],
            "offsets": [origin.offset, tag.offset, ref.offset],
            "itemsize": table.record,
        }
    )


def _manifest(
    directory: Directory, source: SourceInfo, element: ChunkedElement, listed: ListedChunks, grid: Shape
) -> Parse[ChunkManifest]:
    nbytes = math.prod(element.chunk) * element.itemsize
    rows = directory.rows_of(listed.keys)
    gone = (rows < 0) | (directory.offsets[rows] == NOWHERE) if len(rows) else rows < 0
    if gone.any():
        raise CorruptFile(0, f"chunk {int(listed.keys[gone][0]) & 0xFFFF} is not in the file's directory")
    if element.compression is not None:
        rows = yield from _compressed(directory, rows, nbytes)
    offset, length = directory.offsets[rows], directory.lengths[rows]
    linked = np.flatnonzero(directory.special[rows])
    if len(linked):
        return (yield from _joined(directory, source, listed, rows, nbytes, element.compression is not None, grid))
    if element.compression is None:
        if (length < nbytes).any():
            raise CorruptFile(int(offset[length < nbytes][0]), f"a chunk of less than {nbytes} bytes")
        length = np.full(len(rows), nbytes, np.int64)
    beyond = offset + length > directory.size
    if beyond.any():
        raise CorruptFile(int(offset[beyond][0]), f"a chunk lies outside of the file ({directory.size} bytes)")
    total = math.prod(grid)
    number = np.full(total, MISSING, np.int32)
    offsets, lengths = np.zeros(total, np.uint64), np.zeros(total, np.uint64)
    number[listed.flat], offsets[listed.flat], lengths[listed.flat] = 0, offset, length
    return ChunkManifest(grid, (source,), number, offsets, lengths)


def _compressed(directory: Directory, rows: NDArray[np.int64], nbytes: int) -> Parse[NDArray[np.int64]]:
    """The rows of the compressed data of chunks, which their descriptions name."""
    if not directory.special[rows].all():
        raise Unsupported(Reason.LAYOUT, "chunks of which only some are compressed")
    if not len(rows):
        return rows
    offsets, lengths = directory.offsets[rows], directory.lengths[rows]
    if (lengths < DESCRIPTION).any() or (offsets + lengths > directory.size).any():
        raise CorruptFile(0, "the description of a chunk lies outside of the file, or is cut off")
    size = int(lengths[0])
    if (lengths != size).any() or size > LONGEST_DESCRIPTION:
        raise Unsupported(Reason.LAYOUT, "chunks that are compressed in several ways")
    found = yield from _records(offsets, size)
    decoded = _numbers(found[:, 4:8])
    if (_numbers(found[:, :2]) != Special.COMPRESSED).any() or (decoded != nbytes).any():
        raise CorruptFile(0, f"a chunk that does not decode to {nbytes} bytes")
    if (found[:, 10:] != found[0, 10:]).any():
        raise Unsupported(Reason.LAYOUT, "chunks that are compressed in several ways")
    data = directory.rows_of(ElementTag.COMPRESSED << 16 | _numbers(found[:, 8:10]))
    if (data < 0).any() or (directory.offsets[data] == NOWHERE).any():
        raise CorruptFile(0, "the compressed data of a chunk are not in the file's directory")
    return data


def _records(offsets: NDArray[np.int64], size: int) -> Parse[NDArray[np.uint8]]:
    """Records of one size at many places, those that are near to each other in one range; shape (places, size)."""
    order = np.argsort(offsets, kind="stable")
    places = offsets[order]
    borders = np.flatnonzero(np.diff(places) > NEAR) + 1
    found = np.empty((len(places), size), np.uint8)
    groups = [g for part in np.split(np.arange(len(places)), borders) for g in _bounded(part)]
    windows = [ByteRange(int(places[g[0]]), int(places[g[-1]] - places[g[0]]) + size) for g in groups]
    for group, data in zip(groups, (yield from read(windows)), strict=True):
        at = (places[group] - places[group[0]])[:, None] + np.arange(size)
        found[order[group]] = np.frombuffer(data, np.uint8)[at]
    return found


def _bounded(part: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Neighbours in groups of a bounded number, so that no window is very long."""
    return np.array_split(part, -(-len(part) // MOST_TOGETHER))


def _numbers(raw: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Big-endian numbers, one to a row."""
    scale = 256 ** np.arange(raw.shape[1] - 1, -1, -1, dtype=np.int64)
    found: NDArray[np.int64] = raw.astype(np.int64) @ scale
    return found


def _joined(
    directory: Directory,
    source: SourceInfo,
    listed: ListedChunks,
    rows: NDArray[np.int64],
    nbytes: int,
    compressed: bool,
    grid: Shape,
) -> Parse[ChunkManifest]:
    """Chunks of which some lie in linked blocks."""
    parts = yield from all_of([_ranges(directory, source, int(r), None if compressed else nbytes) for r in rows])
    chunk = np.repeat(listed.flat, [len(p.source) for p in parts])
    if any(p.files != (source,) for p in parts):
        raise Unsupported(Reason.EXTERNAL_STORAGE, "chunks in other files")
    columns = [np.concatenate([getattr(p, name) for p in parts]) for name in ("source", "offset", "length")]
    zeros = max((int(p.length[p.source < 0].max(initial=0)) for p in parts), default=0)
    return joined_chunks(grid, (source,), chunk, columns[0], columns[1], columns[2], bytes(zeros))


def _ranges(directory: Directory, source: SourceInfo, row: int, need: int | None) -> Parse[ElementRanges]:
    key = int(directory.keys[row])
    found = yield from find_stored(directory, key >> 16, key & 0xFFFF)
    if found is None or found.length < (need or 0):
        raise CorruptFile(0, f"a chunk of less than {need} bytes")
    return (yield from stored_ranges(found, 0, found.length if need is None else need, source))
