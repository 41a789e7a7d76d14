"""Kerchunk's JSON reference maps, version 0 and 1, read lazily.

A small text is parsed whole. A large one is scanned once for its structure (that is: for quotes, with NumPy). In both
cases
only metadata are kept. A few chunks are then looked up by their keys; when many are asked for, the whole map becomes
columns.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import ByteatlasError, InvalidMetadata, NotFound
from byteatlas.io.source import Source
from byteatlas.manifest.json.columns import ColumnSink
from byteatlas.manifest.json.documents import consolidated, source_infos
from byteatlas.manifest.json.templates.expressions import Templates
from byteatlas.manifest.json.templates.generate import expand_gen
from byteatlas.manifest.json.text.parsed import ParsedText, TwoEntries
from byteatlas.manifest.json.text.searched import SearchedText
from byteatlas.manifest.json.values import parse_reference
from byteatlas.manifest.kinds.sparse import SourceTable
from byteatlas.manifest.model import INLINE, WHOLE, ChunkManifest, Manifest, Rows, SourceInfo, VirtualNode, unpickled
from byteatlas.manifest.options import KnownPlace, MapReadOptions
from byteatlas.manifest.tree import DocumentTree, key_prefix
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, Shape

LOOKED_UP_SINGLY = 8
"""Up to this many chunks are looked up one by one before the whole map is loaded."""


def read_json(source: Source, where: str, options: MapReadOptions) -> VirtualNode:
    """A reference map in JSON as a tree of virtual arrays.

    Raises:
        InvalidMetadata: the text is not a reference map; the message says where.
    """
    return JsonMap(source, where, options).tree()


class JsonMap:
    """One JSON map: its text, its metadata, and, once loaded, the columns of all of its arrays."""

    def __init__(self, source: Source, where: str, options: MapReadOptions) -> None:
        self.where, self.options = where, options
        self._lock = threading.RLock()
        self._columns: dict[str, Manifest] | None = None
        self.ambiguous = False
        try:
            parsed = ParsedText.of(source, where, options)
        except TwoEntries:  # a search would find one of them: whoever reads all says what is wrong
            parsed, self.ambiguous = None, True
        self._text = parsed or SearchedText.of(source, where)
        top = self._text.top
        version = top.get("version", 0)
        if version not in (0, 1) or isinstance(version, bool):
            raise InvalidMetadata(where, f"version {version!r} of the format is not known")
        self.templates = Templates.parse(top.get("templates", {}), where)
        self.gen = top.get("gen") or []
        self.table = SourceTable(source_infos(top.get("byteatlas"), where, options), options.named)
        self.documents = consolidated(self._text.documents(), where)
        if not self.documents:
            raise InvalidMetadata(where, "no Zarr metadata in the map")
        self.hierarchy = DocumentTree(self.documents, where, options.shared)
        self._metas: dict[str, ArrayMeta] = {}
        if options.at_once and isinstance(self._text, ParsedText):
            with suppress(ByteatlasError):  # whoever asks for chunks is told
                self.columns_now()

    def tree(self) -> VirtualNode:
        """The tree of virtual arrays, none of whose chunks was looked at yet."""

        def attach(path: str, meta: ArrayMeta) -> Manifest:
            self._metas[path] = meta  # loading the columns asks for it again
            return LazyJson(self, path, meta)

        return self.hierarchy.build(attach, self.options.place)

    def meta(self, path: str) -> ArrayMeta:
        if path not in self._metas:
            self._metas[path] = self.hierarchy.array_meta(path)[0]
        return self._metas[path]

    def url(self, raw: str) -> str:
        """A URL as it is meant: templates filled in, relative ones beside the map."""
        text = self.templates.fill(raw, self.where) if self.templates.texts else raw
        return self.options.absolute(text, self.where)

    def check(self) -> None:
        """Raises `SourceChanged` when the text was written to: what is known of it leads astray then."""
        if self.options.place is not None:
            self.options.place.check()

    def find(self, key: str, prefix: str) -> tuple[JSON, bool]:
        """The value of a key and True; None and False when the search cannot tell that it is missing.

        ``prefix`` is what the keys of the same array begin with.
        """
        self.check()
        return self._text.find(key, prefix)

    # Columns

    @property
    def loaded(self) -> bool:
        return self._columns is not None

    def columns(self, path: str) -> Manifest:
        """An array's manifest from the columns of the whole map."""
        with self._lock:
            self.columns_now()
            assert self._columns is not None
            return self._columns[path]

    def columns_now(self) -> None:
        """Make columns of all references while their text is parsed."""
        with self._lock:
            self._columns = self._columns or self._load()

    def _load(self) -> dict[str, Manifest]:
        sink = ColumnSink(self)
        self._text.feed(sink)
        if self.gen:
            patterns = sink.patterns()
            for item in expand_gen(self.gen, self.templates, patterns, self.where, self.options.most_generated):
                sink.generated(item)
        self.check()
        infos = self.table.infos
        return {path: collector.finish(infos) for path, collector in sink.collectors.items()}


class LazyJson:
    """The manifest of one array of a JSON map."""

    __slots__ = ("_counts", "_inlined", "_looked", "_map", "_meta", "path")

    def __init__(self, of: JsonMap, path: str, meta: ArrayMeta) -> None:
        self._map, self.path, self._meta = of, path, meta
        self._counts = chunk_counts(meta.shape, meta.grid)
        self._inlined: dict[int, bytes] = {}
        self._looked = 0

    def __reduce__(self) -> tuple[Any, ...]:
        return (unpickled, (self.load(),)) if self.place is None else self.place.reduced_manifest(self.path)

    @property
    def place(self) -> KnownPlace | None:
        return self._map.options.place

    @property
    def grid_shape(self) -> Shape:
        return self._counts

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far: ask for rows first."""
        return self._map.table.infos

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        whole = self._map.loaded or self._map.gen or self._map.ambiguous
        if not whole and self._looked + len(chunks) <= LOOKED_UP_SINGLY:
            self._looked += len(chunks)
            found = self._look(chunks)
            if found is not None:
                return found
        return self._map.columns(self.path).rows(chunks)

    def _look(self, chunks: NDArray[np.int64]) -> Rows | None:
        source = np.empty(len(chunks), np.int32)
        offset, length = np.zeros(len(chunks), np.uint64), np.zeros(len(chunks), np.uint64)
        for i, flat in enumerate(chunks.tolist()):
            value, sure = self._map.find(self._key(flat), key_prefix(self.path, self._meta.keys, len(self._counts)))
            if not sure:
                return None
            where = f"{self._map.where}: {self._key(flat)}"
            match parse_reference(value, where, self._map.options.target):
                case bytes() as data:
                    self._inlined[flat] = data
                    source[i] = INLINE
                case (url, begin, size):
                    source[i] = self._map.table.number(self._map.url(url))
                    offset[i], length[i] = begin, WHOLE if size is None else size
        return Rows(source, offset, length)

    def _key(self, flat: int) -> str:
        keys, ndim = self._meta.keys, len(self._counts)
        prefix = key_prefix(self.path, keys, ndim)
        if not ndim:
            return prefix + keys.suffix
        return prefix + keys.separator.join(str(int(i)) for i in np.unravel_index(flat, self._counts)) + keys.suffix

    def inline(self, chunk: int) -> bytes:
        if chunk in self._inlined:
            return self._inlined[chunk]
        try:
            return self._map.columns(self.path).inline(chunk)
        except KeyError as error:
            raise NotFound(f"chunk {chunk} of {self.path!r} is not inline") from error

    def load(self) -> ChunkManifest:
        return self._map.columns(self.path).load()
