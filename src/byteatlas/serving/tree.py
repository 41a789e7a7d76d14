"""One tree in one version of Zarr: its documents, and the bytes of its chunks by key."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from time import monotonic
from typing import Any, Literal, TypeAlias

import numpy as np

from byteatlas.array import Array, Group, Node
from byteatlas.array.reading.locating.manifest import ManifestLocator
from byteatlas.array.reading.opening import fill_of
from byteatlas.errors import Unsupported
from byteatlas.meta import fill, v2, v3
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.json_text import json_text
from byteatlas.meta.model import ArrayMeta, RegularGrid
from byteatlas.normalised import NormalisedView, NormaliseOptions
from byteatlas.normalised.arrays import NormalisedArray
from byteatlas.normalised.view import chunk_place
from byteatlas.serving.bodies import Body, ByteCache, body_of, stored_body
from byteatlas.serving.options import ServeOptions
from byteatlas.serving.passing import passed_meta
from byteatlas.types import Shape
from byteatlas.values import dataclass

ZarrFormat: TypeAlias = Literal[2, 3]
FORMATS: tuple[ZarrFormat, ...] = (2, 3)
JSON_TYPE = "application/json"


@dataclass(frozen=True, slots=True, eq=False)
class ServedArray:
    """One array as it is served.

    Attributes:
        meta: as clients see it.
        passed: its chunks are passed on as they are stored; else they are decoded and encoded again.
        gaps: chunks that were never written are absent here too (404), and read as the fill value.
    """

    path: str
    source: Array
    meta: ArrayMeta
    normal: NormalisedArray
    passed: bool
    gaps: bool

    @property
    def counts(self) -> Shape:
        return chunk_counts(self.meta.shape, self.meta.grid)


@dataclass(frozen=True, slots=True)
class ChunkPlace:
    """A chunk of a served array: its place in the grid."""

    array: ServedArray
    position: Shape

    @property
    def number(self) -> int:
        return int(np.ravel_multi_index(self.position, self.array.counts)) if self.position else 0


class ServedTree:
    """A node in one version. Safe to use from many threads; metadata are made when it is made."""

    def __init__(self, node: Node, zarr_format: ZarrFormat, options: ServeOptions, cache: ByteCache) -> None:
        self.zarr_format, self._options, self._cache = zarr_format, options, cache
        how = NormaliseOptions(zarr_format=zarr_format, compression=options.compression, level=options.level)
        view = NormalisedView(node, how)
        self.refused: dict[str, Unsupported | Any] = dict(view.refused)
        self.arrays: dict[str, ServedArray] = {}
        for path, normal in view.arrays.items():
            self._take(path, _array_at(node, path), normal)
        found = {key: json.loads(text) for key, text in view.documents().items()}
        self._patch(found, node)
        self.documents: Mapping[str, Body] = {
            key: body_of(json_text(value).encode(), JSON_TYPE) for key, value in found.items()
        }

    def _take(self, path: str, source: Array, normal: NormalisedArray) -> None:
        meta = passed_meta(source, normal, filters=self._options.filters)
        if meta is not None:
            self.arrays[path] = ServedArray(path, source, meta, normal, passed=True, gaps=True)
            return
        nbytes = _decoded(normal)
        if nbytes > self._options.most_chunk:
            why = f"its chunks of {nbytes} bytes are larger than what this server decodes ({self._options.most_chunk})"
            self.refused[path] = Unsupported("too-large", why)
            return
        self.arrays[path] = ServedArray(path, source, normal.meta, normal, passed=False, gaps=_gaps(source, normal))

    def _patch(self, documents: dict[str, Any], node: Node) -> None:
        """Put the documents of arrays that are passed on in the place of the plain ones, and take out the refused."""
        root = documents.get("zarr.json" if self.zarr_format == 3 else ".zmetadata", {})
        inside = root.get("consolidated_metadata", {}) if self.zarr_format == 3 else root
        all_of = inside.get("metadata", {}) if isinstance(inside, dict) else {}
        for path, array in self.arrays.items():
            if array.passed:
                for key, value in _documents_of(path, array.meta).items():
                    documents[key] = value
                    name = path if self.zarr_format == 3 else key
                    if name in all_of:
                        all_of[name] = value
        for path in self.refused:
            base = f"{path}/" if path else ""
            for name in ("zarr.json", ".zarray", ".zattrs"):
                if base + name in documents and (base or not isinstance(node, Group)):
                    del documents[base + name]
                all_of.pop(path if self.zarr_format == 3 else base + name, None)

    def place(self, key: str) -> ChunkPlace | None:
        """The chunk that a key names; None for a key that is none of the grid's."""
        found = chunk_place(key, self.arrays)
        return None if found is None else ChunkPlace(self.arrays[found[0]], found[1])

    def chunk(self, place: ChunkPlace) -> Body | None:
        """The bytes of a chunk; None for one that was never written. Blocks. Raises what reading raises."""
        array = place.array
        if array.passed:
            return stored_body(array.source, place.number)
        if array.gaps and stored_body(array.source, place.number) is None:
            return None
        key = (self.zarr_format, array.path, place.number, self._age(array.source))
        return self._cache.get(key, lambda: array.normal.chunk(place.position))

    def _age(self, source: Array) -> int:
        """What a kept chunk is kept under. The files of a map stay as they were indexed; a store may be written to, and
        its chunks are kept as long as clients may keep them."""
        return 0 if isinstance(source.locator, ManifestLocator) else int(monotonic() // max(self._options.max_age, 1))

    def room(self, place: ChunkPlace) -> int:
        """Bytes that making this chunk holds at most, as far as that is known before."""
        return 0 if place.array.passed else 2 * _decoded(place.array.normal)


def _decoded(normal: NormalisedArray) -> int:
    """Bytes of the values of one chunk; of objects those of their places."""
    assert isinstance(normal.meta.grid, RegularGrid)
    return math.prod(normal.meta.grid.chunk_shape) * max(normal.meta.data_type.numpy.itemsize, 1)


def _array_at(node: Node, path: str) -> Array:
    found = node[path] if isinstance(node, Group) else node
    assert isinstance(found, Array)
    return found


def _gaps(source: Array, normal: NormalisedArray) -> bool:
    """Whether a missing chunk is missing in what is served as well: the same grid, and the same fill value."""
    if source.shards is not None or source.meta.grid != normal.meta.grid or source.shape != normal.meta.shape:
        return False
    if source.dtype.hasobject or normal.meta.data_type != source.meta.data_type:
        return False
    return fill.same(normal.meta.fill_value, fill_of(source.meta), source.meta.data_type)


def _documents_of(path: str, meta: ArrayMeta) -> dict[str, Any]:
    base = f"{path}/" if path else ""
    if meta.zarr_format == 3:
        return {base + "zarr.json": v3.dump_array(meta)}
    zarray, zattrs = v2.dump_array(meta)
    return {base + ".zarray": zarray, base + ".zattrs": zattrs}
