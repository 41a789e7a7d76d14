"""Copy virtual (or stored) arrays into a real Zarr store: rechunk, recompress, shard; resumable; in bounded memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from byteatlas.arguments import FLAG, accept_fields, made_by, one_of, whole
from byteatlas.array.array import Array
from byteatlas.array.group import Group, Node
from byteatlas.array.levels.coarse import Coarse
from byteatlas.array.levels.geozarr import placed
from byteatlas.array.levels.options import LevelOptions
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.array.writing.create import (
    check_compression,
    default_compression,
    sharding,
    to_bytes_codec,
    whole_numbers,
)
from byteatlas.array.writing.documents import consolidate, write_group_meta
from byteatlas.array.writing.identity import same_values, source_identity
from byteatlas.array.writing.journal import Journal
from byteatlas.array.writing.options import DEFAULT_WRITE, ArrayWriteOptions
from byteatlas.array.writing.pyramid import CopyLevel, finish, levels_for, paths_of
from byteatlas.array.writing.writable import WritableArray
from byteatlas.array.writing.write import create_array, create_group, open_writable
from byteatlas.errors import BadRequest, Conflict, InvalidMetadata, NotFound, unknown
from byteatlas.meta import fill, v2, v3
from byteatlas.meta.attributes import FILL
from byteatlas.meta.compare import fingerprint
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, GroupMeta, RectilinearGrid, RegularGrid
from byteatlas.store.base import WritableStore, check_path
from byteatlas.store.nodes import Nodes
from byteatlas.store.withheld import Withheld
from byteatlas.types import Shape
from byteatlas.values import dataclass, replace

TellCopied = Callable[[str, int, int], None]
"""Called with an array's path, the bytes (of decoded values) copied of it so far, and its total."""


COPY_OPTIONS = {
    "zarr_format": one_of(2, 3),
    "memory": whole(1),
    **dict.fromkeys(("resume", "consolidated", "geozarr"), FLAG),
    "write": made_by(ArrayWriteOptions, words="ArrayWriteOptions"),
    "levels": made_by(LevelOptions, words="LevelOptions") | None,
}


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """What the copy looks like.

    Attributes:
        chunks: chunk shape by array path, or one for all arrays of that many axes; None = as the source.
        shards: shard shape in the same way (version 3 only).
        compression: bytes -> bytes codecs for all arrays; None = shuffle and Zstandard.
        memory: bytes of decoded values held at a time, about.
        resume: go on with an earlier copy that was stopped; else a store that has nodes is refused.
        consolidated: write consolidated metadata at the end.
        geozarr: also write where rasters lie as the Zarr conventions ``spatial:`` and ``proj:`` say it, as far as their
            coordinates and grid mappings tell.
        levels: also write overviews of rasters and grids, and the attributes that list them; None = no.

    >>> options = ba.CopyOptions(chunks={"air": (2, 4, 4)})
    >>> _ = ba.copy("jan.nc", "chunked.zarr", options=options)
    >>> ba.open("chunked.zarr")["air"].chunks
    (2, 4, 4)
    """

    zarr_format: Literal[2, 3] = 3
    chunks: Mapping[str, Shape] | Shape | None = None
    shards: Mapping[str, Shape] | Shape | None = None
    compression: tuple[CodecSpec, ...] | None = None
    memory: int = 256 << 20
    resume: bool = True
    consolidated: bool = True
    write: ArrayWriteOptions = DEFAULT_WRITE
    geozarr: bool = False
    levels: LevelOptions | None = None

    def __post_init__(self) -> None:
        accept_fields(COPY_OPTIONS, self)
        check_compression(self.compression)
        for name, choice in (("chunks", self.chunks), ("shards", self.shards)):
            if choice is None:
                continue
            shapes = choice.values() if isinstance(choice, Mapping) else [choice]
            for shape in shapes:
                whole_numbers(shape, name, 1)


DEFAULT_COPYING = CopyOptions()


@dataclass(frozen=True, slots=True)
class CopyReport:
    """What a copy did: arrays copied, bytes of their decoded values, bytes put into the store by this run.

    >>> ba.copy("jan.nc", "copied.zarr").nbytes
    368
    """

    arrays: int
    nbytes: int
    written: int


def copy(
    node: Node, store: WritableStore, options: CopyOptions = DEFAULT_COPYING, progress: TellCopied | None = None
) -> CopyReport:
    """Copy an array or a group and all below it into a store, which need not be able to list its keys.

    Every value of the copy equals the source's. A copy that was stopped is taken up where it was, when the source and
    the options are the same. Metadata come last: until then the store holds no node, and nobody reads fill values where
    something is still to come.

    Raises:
        Conflict: the store holds something else, or a copy made with other options.
        Unsupported: an array that ``zarr_format`` cannot express.
    """
    held = Withheld(store)
    arrays = [("", node)] if isinstance(node, Array) else [(p, n) for p, n in node.walk() if isinstance(n, Array)]
    _check_paths([path for path, _ in arrays])
    _check_names({path: array.ndim for path, array in arrays}, options)
    plans = {path: _target(path, array, options) for path, array in arrays}
    if options.geozarr:
        plans = {path: placed(node, path, plan) for path, plan in plans.items()}
    prints = {path: _fingerprint(array, plans[path], options) for path, array in arrays}
    levels = levels_for(dict(arrays), plans, options.levels, options.memory)
    prints.update({level.path: _level_print(prints[level.of], level, options) for level in levels})
    journal = Journal.load(held, prints, resume=options.resume)
    journal.save()
    if isinstance(node, Group):
        _groups(node, held, options)
    for path, array in arrays:
        _copy_array(path, array, plans[path], held, options, journal, progress)
    for level in levels:
        _copy_array(level.path, level.source, level.target, held, options, journal, progress)
    if levels and isinstance(node, Group) and options.levels is not None:
        finish(node, held, levels, options.levels, options.write)
    if options.consolidated and isinstance(node, Group):
        consolidate(held, [*(path for path, _ in node.walk()), *paths_of(levels, node)])
    held.release()
    journal.close()
    values = sum(a.nbytes for _, a in arrays) + sum(level.source.size * level.source.dtype.itemsize for level in levels)
    return CopyReport(len(arrays) + len(levels), values, held.written)


def _level_print(base: str, level: CopyLevel, options: CopyOptions) -> str:
    resampling = None if options.levels is None else options.levels.resampling
    return fingerprint(base, level.factor, resampling, level.source.shape)


def _check_paths(paths: Sequence[str]) -> None:
    """Raise `BadRequest`, before anything is written, for arrays whose names can be in no key of a store."""
    for path in paths:
        try:
            check_path(path)
        except NotFound as error:
            why = "a backslash separates folders on some systems" if "\\" in path else "no node can have this name"
            raise BadRequest(f"array {path!r} cannot be copied: {why}; copy other members one by one") from error


def _check_names(axes: Mapping[str, int], options: CopyOptions) -> None:
    """Raise for shapes that no array would get: a path that is none, or a number of axes that none has."""
    for what, choice in (("chunks", options.chunks), ("shards", options.shards)):
        if isinstance(choice, Mapping):
            for path in choice:
                if path.strip("/") not in axes:
                    raise unknown("array", path, axes)
        elif choice is not None and len(choice) not in axes.values():
            raise BadRequest(f"{what} {tuple(choice)}: no array has {len(choice)} axes")


def _groups(root: Group, store: WritableStore, options: CopyOptions) -> None:
    nodes = Nodes(store, consolidated=False)
    groups = [("", root), *((p, n) for p, n in root.walk() if isinstance(n, Group))]
    for path, group in groups:
        clean = check_path(path)
        meta = GroupMeta(dict(group.attrs), options.zarr_format)
        if nodes.kind(clean) is None:
            create_group(store, clean, attributes=group.attrs, zarr_format=options.zarr_format)
        else:
            write_group_meta(store, clean, meta)


def _target(path: str, array: Array, options: CopyOptions) -> ArrayMeta:
    """The metadata of an array's copy."""
    source = array.meta
    grid = source.grid
    chunks = _shape_for(options.chunks, path, array.ndim, "chunks")
    if chunks is None:
        chunks = _source_chunks(array)
    compression = options.compression
    if compression is None:
        compression = default_compression(source.data_type, options.zarr_format)
    chain: tuple[CodecSpec, ...] = (to_bytes_codec(source.data_type), *compression)
    shards = _shape_for(options.shards, path, array.ndim, "shards")
    if shards is not None:
        if options.zarr_format != 3 or any(s % c for s, c in zip(shards, chunks, strict=True)):
            raise BadRequest(f"{path}: shards of shape {shards} need version 3 and a multiple of the chunks {chunks}")
        chain = (sharding(chunks, chain),)
    grid = RegularGrid(shards or chunks)
    three = options.zarr_format == 3
    return replace(
        source,
        grid=grid,
        encodings=(Encoding(chain),),
        fill_value=source.fill_value if three or _is_v2_store(array) else mask_of(source),
        keys=ChunkKeys("default", "/") if three else ChunkKeys("v2", "."),
        zarr_format=options.zarr_format,
    )


def _is_v2_store(array: Array) -> bool:
    """Whether it is an array of a native store of version 1 or 2."""
    return isinstance(array.locator, StoreLocator) and array.meta.zarr_format != 3


def mask_of(meta: ArrayMeta) -> object:
    """The fill value of a copy in version 2: the mask that the attributes give, or none.

    xarray takes the fill value of version 2 for ``_FillValue``. What archives and version 3 have as fill value is
    something else, what a chunk reads as that was never written: values equal to it would be masked.
    """
    value = meta.attributes.get(FILL)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or isinstance(value, list):
        return None
    try:
        return fill.from_v2(value, meta.data_type, meta.data_type.numpy)
    except (InvalidMetadata, OverflowError, ValueError):
        return None  # a marker that the type does not have masks nothing


def _shape_for(choice: Mapping[str, Shape] | Shape | None, path: str, ndim: int, what: str) -> Shape | None:
    if choice is None:
        return None
    if isinstance(choice, Mapping):
        found = next((shape for name, shape in choice.items() if name.strip("/") == path), None)
        if found is None:
            return None
        if len(found) != ndim:
            raise BadRequest(f"{path}: {what} {found} for an array of {ndim} axes")
    elif len(choice) != ndim:
        return None
    else:
        found = choice
    return tuple(found)


def _source_chunks(array: Array) -> Shape:
    """The source's chunk shape; for a rectilinear grid the longest chunk along each axis."""
    grid = array.meta.grid
    if isinstance(grid, RectilinearGrid):
        return tuple(max(1, min(n, max(edges, default=1))) for n, edges in zip(array.shape, grid.edges, strict=True))
    return tuple(max(1, int(n)) for n in array.chunks)


def _fingerprint(array: Array, target: ArrayMeta, options: CopyOptions) -> str:
    """What makes one copy the same as another: where the source's bytes lie, its type, the target's metadata."""
    document = v3.dump_array(target) if target.zarr_format == 3 else v2.dump_array(target)
    return fingerprint(source_identity(array), array.shape, str(array.dtype), document, options.memory)


def _copy_array(
    path: str,
    source: Array | Coarse,
    target: ArrayMeta,
    store: WritableStore,
    options: CopyOptions,
    journal: Journal,
    progress: TellCopied | None,
) -> None:
    begun = journal.done.get(path)
    if begun is None:
        journal.mark(path, 0)
        begun = 0
    made = _opened(path, target, store, options)
    total = source.size * max(source.dtype.itemsize, 1)
    copied = 0
    for number, region in enumerate(regions(source, target, options.memory)):
        size = math.prod(s.stop - s.start for s in region) * source.dtype.itemsize
        if number >= begun:
            made[region] = source.read(region)
            journal.mark(path, number + 1)
        elif number == begun - 1 and not same_values(made.read(region), source.read(region)):
            raise Conflict([f"{store.url} holds an unfinished copy of {path or '/'} with other values"], "copy")
        copied += size
        if progress is not None:
            progress(path, copied, total)


def _opened(path: str, target: ArrayMeta, store: WritableStore, options: CopyOptions) -> WritableArray:
    if Nodes(store, consolidated=False).kind(path) is None:
        return create_array(store, path, target, write=options.write)
    return open_writable(store, path, write=options.write)


def regions(source: Array | Coarse, target: ArrayMeta, memory: int) -> Iterator[tuple[slice, ...]]:
    """Boxes of whole target chunks that fit in memory, in C order, grown so that source chunks are decoded once."""
    grid = target.grid
    assert isinstance(grid, RegularGrid)
    stored = _source_chunks(source) if isinstance(source, Array) else grid.chunk_shape
    step = region_shape(source.shape, grid.chunk_shape, stored, memory // max(source.dtype.itemsize, 1))
    starts: Sequence[range] = [range(0, n, s) for n, s in zip(source.shape, step, strict=True)]
    for corner in itertools.product(*starts):
        yield tuple(slice(a, min(a + s, n)) for a, s, n in zip(corner, step, source.shape, strict=True))


def region_shape(shape: Shape, target: Shape, source: Shape, elements: int) -> Shape:
    """A multiple of the target's chunks, of at most about ``elements`` (never less than one chunk).

    First grown to multiples of the source's chunks too, then along the last axes, as far as it fits.

    >>> region_shape((100, 100), (10, 10), (25, 100), 6000)
    (50, 100)
    """
    step = list(target)
    _grow(step, [min(math.lcm(t, s), -(-n // t) * t) for t, s, n in zip(target, source, shape, strict=True)], elements)
    _grow(step, [-(-n // t) * t for t, n in zip(step, shape, strict=True)], elements)
    return tuple(max(1, n) for n in step)


def _grow(step: list[int], goal: list[int], elements: int) -> None:
    """Grow a box towards a goal, the last axis first, by multiples of what it is and as far as it fits (in place)."""
    for axis in reversed(range(len(step))):
        others = math.prod(n for i, n in enumerate(step) if i != axis)
        fits = elements // max(others, 1) // step[axis] * step[axis]
        step[axis] = max(step[axis], min(goal[axis], fits))
