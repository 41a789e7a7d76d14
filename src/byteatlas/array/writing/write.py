"""Create, fill, resize and append to stored arrays and groups (Zarr v2 and v3).

A stored chunk (a shard, where there are shards) is the unit of writing. One that is written in part is read, changed
and written back. Each key is set atomically; a metadata document is written before the first chunk it describes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import selection as sel
from byteatlas.array.array import Array, fill_of
from byteatlas.array.options import DEFAULT, ReadOptions
from byteatlas.array.reading.execute import put, take
from byteatlas.array.reading.pipelines import Pipelines
from byteatlas.array.reading.plan import Plan, plan_orthogonal
from byteatlas.array.reading.pool import Scratch, run_tasks
from byteatlas.array.stored import StoreLocator
from byteatlas.errors import BadRequest, BadSelection, Conflict, Unsupported
from byteatlas.meta import v2, v3
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, GroupMeta, RectilinearGrid, RegularGrid
from byteatlas.store.base import WritableStore, check_path
from byteatlas.store.documents import load_object
from byteatlas.store.nodes import Nodes, StoredArray
from byteatlas.types import JSON, Shape

REMOTE_PUTS = 16
"""Chunks put to remote storage at once, when nobody chose a number."""
REMOTE_BYTES = 64 << 20
"""Bytes of decoded chunks that these may hold together."""


@dataclass(frozen=True, slots=True)
class ArrayWriteOptions:
    """How to write.

    Attributes:
        empty_chunks: write chunks that hold the fill value only; else their keys are removed (where there is a fill
            value: ``null`` in version 2 leaves open what a missing chunk reads as).
        threads: threads that encode; None = one per processor.
    """

    empty_chunks: bool = False
    threads: int | None = None


class WritableArray(Array):
    """A stored array that can be assigned to. Not safe for several writers of one chunk at a time."""

    __slots__ = ("_store", "_write")

    def __init__(
        self,
        store: WritableStore,
        path: str,
        meta: ArrayMeta,
        options: ReadOptions = DEFAULT,
        write: ArrayWriteOptions = ArrayWriteOptions(),
        registry: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(meta, StoreLocator.of(store, path, StoredArray(meta)), path, options, registry)
        self._store, self._write = store, write

    def __reduce__(self) -> tuple[Any, ...]:
        return WritableArray, (self._store, self.path, self.meta, self.options, self._write, self._registry)

    def __setitem__(self, selection: Any, values: Any) -> None:
        """Assign to a basic selection; values are broadcast as in NumPy and cast to this array's type."""
        self._assign(sel.basic(selection, self.shape), values)

    def set_orthogonal(self, selection: Any, values: Any) -> None:
        """Assign to an orthogonal selection (index arrays along each axis by itself)."""
        self._assign(sel.orthogonal(selection, self.shape), values)

    def resize(self, shape: Shape) -> WritableArray:
        """The same array with another shape: metadata only, except that chunks wholly outside are removed."""
        if len(shape) != self.ndim or any(n < 0 for n in shape):
            raise BadRequest(f"{shape} is no shape for an array of {self.ndim} axes")
        if isinstance(self.meta.grid, RectilinearGrid):
            raise Unsupported("rectilinear", "resizing an array with a rectilinear grid", self.path)
        meta = replace(self.meta, shape=tuple(shape))
        if any(new < old for new, old in zip(shape, self.shape, strict=True)):
            self._trim(tuple(shape))
        write_array_meta(self._store, self.path, meta)
        return WritableArray(self._store, self.path, meta, self.options, self._write, self._registry)

    def append(self, values: Any, axis: int = 0) -> WritableArray:
        """The array grown along one axis by these values. The old handle keeps the old shape."""
        block = np.asarray(values)
        if block.ndim != self.ndim or not 0 <= axis < self.ndim:
            raise BadRequest(f"cannot append an array of {block.ndim} axes along axis {axis} of {self.shape}")
        rest = tuple(n for i, n in enumerate(self.shape) if i != axis)
        if tuple(n for i, n in enumerate(block.shape) if i != axis) != rest:
            raise BadRequest(f"cannot append shape {block.shape} to shape {self.shape} along axis {axis}")
        grown = self.resize(tuple(n + block.shape[axis] * (i == axis) for i, n in enumerate(self.shape)))
        where = tuple(slice(self.shape[axis], None) if i == axis else slice(None) for i in range(self.ndim))
        grown[where] = block
        return grown

    # --- chunks

    def _assign(self, selection: tuple[sel.AxisSelection, ...], values: Any) -> None:
        plan = plan_orthogonal(selection, self.shape, self.meta.grid)
        data = self._cast(values)
        try:
            data = np.broadcast_to(data, plan.shape)
        except ValueError as error:
            raise BadSelection(f"values of shape {data.shape} do not fit a selection of shape {plan.shape}") from error
        data = data[(*(np.newaxis if a.drop else slice(None, None, -1 if a.flip else 1) for a in plan.axes), ...)]
        chunks = plan.flat_chunks()
        whole = plan.whole()
        locator = StoreLocator.of(self._store, self.path, StoredArray(self.meta))
        pipelines = Pipelines(self.meta, self._registry)

        def task(number: int, scratch: Scratch) -> None:
            chunk = int(chunks[number])
            self._write_chunk(plan, number, bool(whole[number]), data, locator, pipelines, chunk)

        first = pipelines.first
        run_tasks(len(chunks), task, self._threads(first.nbytes if first is not None else None))

    @property
    def _keeps_empty(self) -> bool:
        """Without a fill value, version 2 does not say what a chunk that is left out reads as."""
        return self._write.empty_chunks or (self.meta.zarr_format == 2 and self.meta.fill_value is None)

    def _threads(self, nbytes: int | None) -> int:
        """Threads that encode and put chunks of this size: remote storage is waited for, which more can do at once."""
        if self._write.threads is not None or self._store.local:
            return self._write.threads or self.options.workers()
        return max(self.options.workers(), min(REMOTE_PUTS, REMOTE_BYTES // max(nbytes or REMOTE_BYTES, 1)))

    def _cast(self, values: Any) -> NDArray[Any]:
        if self.dtype.hasobject and not isinstance(values, np.ndarray):
            values = np.asarray(values, object)
        if isinstance(values, np.ndarray) and values.dtype.names is not None and values.dtype.names != self.dtype.names:
            raise BadRequest(f"values of {values.dtype} for an array of {self.dtype}")
        try:
            return np.asarray(values).astype(self.dtype, copy=False)
        except (ValueError, TypeError, OverflowError) as error:
            raise BadRequest(f"values cannot be cast to {self.dtype}: {error}") from error

    def _write_chunk(
        self,
        plan: Plan,
        number: int,
        whole: bool,
        data: NDArray[Any],
        locator: StoreLocator,
        pipelines: Pipelines,
        chunk: int,
    ) -> None:
        pipeline = pipelines.at(0, chunk)
        pieces = np.unravel_index(number, plan.pieces) if plan.pieces else ()
        inside = tuple(a.inside(int(p)) for a, p in zip(plan.axes, pieces, strict=True))
        source = tuple(a.target(int(p)) for a, p in zip(plan.axes, pieces, strict=True))
        key = locator.key(chunk)
        old = None if whole else self._store.get(key, locator.most)
        if old is None:
            block = np.empty(pipeline.shape, self.dtype)
            block[...] = fill_of(self.meta)
        else:
            block = np.array(pipeline.decode(old))
        put(block, inside, take(data, source))
        if not self._keeps_empty and is_fill(block, fill_of(self.meta)):
            self._store.delete(key)
        else:
            self._store.set(key, pipeline.encode(block))

    def _trim(self, shape: Shape) -> None:
        """Remove chunks that a smaller shape leaves outside, and blank the parts outside of those it cuts."""
        keep = chunk_counts(shape, self.meta.grid)
        counts = chunk_counts(self.shape, self.meta.grid)
        locator = StoreLocator.of(self._store, self.path, StoredArray(self.meta))
        for chunk in range(int(np.prod(counts, dtype=object)) if counts else 0):
            index = np.unravel_index(chunk, counts)
            if any(int(i) >= n for i, n in zip(index, keep, strict=True)):
                self._store.delete(locator.key(chunk))
        if isinstance(self.meta.grid, RegularGrid):
            sizes = self.meta.grid.chunk_shape
            edges = [min(-(-new // c) * c, old) for new, c, old in zip(shape, sizes, self.shape, strict=True)]
            for axis, (new, edge) in enumerate(zip(shape, edges, strict=True)):
                if new < edge:
                    self[tuple(slice(new, e) if i == axis else slice(0, e) for i, e in enumerate(edges))] = fill_of(
                        self.meta
                    )


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


# --- nodes


def write_array_meta(store: WritableStore, path: str, meta: ArrayMeta) -> None:
    """Write an array's metadata documents. Consolidated copies are dropped: they would contradict."""
    if meta.zarr_format == 3:
        _put_documents(store, path, {"zarr.json": v3.dump_array(meta)})
    else:
        zarray, zattrs = v2.dump_array(meta)
        _put_documents(store, path, {".zattrs": zattrs, ".zarray": zarray})


def write_group_meta(store: WritableStore, path: str, meta: GroupMeta) -> None:
    """Write a group's metadata documents. Consolidated copies are dropped: they would contradict."""
    if meta.zarr_format == 3:
        _put_documents(store, path, {"zarr.json": v3.dump_group(meta)})
    else:
        zgroup, zattrs = v2.dump_group(meta)
        _put_documents(store, path, {".zattrs": zattrs, ".zgroup": zgroup})


def _put_documents(store: WritableStore, path: str, documents: Mapping[str, JSON]) -> None:
    """The document that makes the node exist comes last; one without members is left out."""
    drop_consolidated(store)
    for name, document in documents.items():
        if document:
            put_json(store, f"{path}/{name}" if path else name, document)


def create_group(
    store: WritableStore,
    path: str = "",
    *,
    attributes: Mapping[str, JSON] | None = None,
    zarr_format: Literal[2, 3] = 3,
) -> None:
    """Create a group, and the groups above it that do not exist yet. Raises `Conflict` when there is a node."""
    clean = check_path(path)
    _free(store, clean)
    make_parents(store, clean, zarr_format)
    write_group_meta(store, clean, GroupMeta(dict(attributes or {}), zarr_format))


def create_array(
    store: WritableStore,
    path: str,
    meta: ArrayMeta,
    *,
    options: ReadOptions = DEFAULT,
    write: ArrayWriteOptions = ArrayWriteOptions(),
    registry: Mapping[str, Any] | None = None,
) -> WritableArray:
    """Create an array that holds its fill value, and the groups above it that do not exist yet.

    Raises:
        Conflict: there is a node at this path, or an array above it.
        Unsupported: the metadata cannot be written in ``meta.zarr_format``, or a codec cannot encode.
    """
    clean = check_path(path)
    check_writable(clean, meta)
    _free(store, clean)
    made = WritableArray(store, clean, meta, options, write, registry)
    make_parents(store, clean, 3 if meta.zarr_format == 3 else 2)
    write_array_meta(store, clean, meta)
    return made


def check_writable(path: str, meta: ArrayMeta) -> None:
    """Raises `Unsupported` for an array that can be read but not written."""
    if len(meta.encodings) != 1 or meta.encodings[0].cast or meta.encodings[0].chunk_shape is not None:
        raise Unsupported("encodings", "an array with several encodings can be read and referenced, not written", path)
    if meta.zarr_format == 1:
        raise Unsupported("zarr-v1", "version 1 is read only", path)


def open_writable(
    store: WritableStore,
    path: str = "",
    *,
    options: ReadOptions = DEFAULT,
    write: ArrayWriteOptions = ArrayWriteOptions(),
    registry: Mapping[str, Any] | None = None,
) -> WritableArray:
    """An existing array for writing. Raises `NotFound`, `BadRequest` (a group)."""
    clean = check_path(path)
    found = Nodes(store, consolidated=False).read(clean)
    if isinstance(found, GroupMeta):
        raise BadRequest(f"{'/' + clean!r} is a group")
    if found.column is not None:
        raise Unsupported("encodings", "an array with several encodings can be read and referenced, not written", clean)
    return WritableArray(store, clean, found.meta, options, write, registry)


def consolidate(store: WritableStore, paths: Sequence[str] | None = None) -> None:
    """Write the root's consolidated metadata: ``.zmetadata`` for version 2, inline in ``zarr.json`` for version 3.

    ``paths``: the nodes below the root; None = found by listing the store.
    """
    nodes = Nodes(store, consolidated=False)
    root = nodes.read("")
    if not isinstance(root, GroupMeta):
        raise BadRequest("an array has no members to consolidate")
    found: dict[str, JSON] = {}
    names = ("zarr.json",) if root.zarr_format == 3 else (".zarray", ".zgroup", ".zattrs")
    for path in ["", *(_paths(nodes, "") if paths is None else paths)]:
        for name in names:
            data = store.get(f"{path}/{name}" if path else name)
            if data is not None:
                found[path if root.zarr_format == 3 else (f"{path}/{name}" if path else name)] = json.loads(bytes(data))
    if root.zarr_format == 2:
        put_json(store, ".zmetadata", {"metadata": found, "zarr_consolidated_format": 1})
        return
    document = found.pop("")
    document["consolidated_metadata"] = {"kind": "inline", "must_understand": False, "metadata": found}
    put_json(store, "zarr.json", document)


def drop_consolidated(store: WritableStore) -> None:
    """Remove the root's consolidated metadata, where there is any."""
    if store.get(".zmetadata") is not None:
        store.delete(".zmetadata")
    data = store.get("zarr.json")
    if data is not None:
        document = load_object(data, f"{store.url}/zarr.json")
        if document.pop("consolidated_metadata", None) is not None:
            put_json(store, "zarr.json", document)


def _paths(nodes: Nodes, path: str) -> list[str]:
    found: list[str] = []
    for name, kind in nodes.children(path).items():
        below = f"{path}/{name}" if path else name
        found.append(below)
        if kind == "group":
            found += _paths(nodes, below)
    return found


def _free(store: WritableStore, path: str) -> None:
    if Nodes(store, consolidated=False).kind(path) is not None:
        raise Conflict([f"{store.url} has a node at {'/' + path!r} already"], "write")


def make_parents(store: WritableStore, path: str, zarr_format: Literal[2, 3]) -> None:
    """Make the groups above a path that do not exist yet. Raises `Conflict` for an array among them."""
    nodes = Nodes(store, consolidated=False)
    parts: Sequence[str] = path.split("/")[:-1] if path else ()
    for above in ["", *("/".join(parts[: i + 1]) for i in range(len(parts)))] if path else ():
        kind = nodes.kind(above)
        if kind == "array":
            raise Conflict([f"{'/' + above!r} is an array; it cannot hold {path!r}"], "write")
        if kind is None:
            write_group_meta(store, above, GroupMeta({}, zarr_format))


def put_json(store: WritableStore, key: str, document: JSON) -> None:
    """Set a metadata document."""
    store.set(key, json.dumps(document, indent=1, allow_nan=True, ensure_ascii=False).encode())
