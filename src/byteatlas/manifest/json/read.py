"""Kerchunk's JSON reference maps, version 0 and 1, read lazily.

Opening scans the text once for its structure (that is: for quotes, with NumPy) and keeps only metadata. A few chunks
are then looked up by searching the text for their keys; when many are asked for, the whole map becomes columns.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata, NotFound
from byteatlas.io.memory import MemorySource
from byteatlas.io.source import Source
from byteatlas.manifest.json.columns import ColumnSink, decode_text, parse_reference
from byteatlas.manifest.json.generate import expand_gen
from byteatlas.manifest.json.template import Templates
from byteatlas.manifest.json.tokens import Entries, Irregular, Reader, scan_object, unescape
from byteatlas.manifest.kinds.sparse import SourceTable
from byteatlas.manifest.model import INLINE, WHOLE, ChunkManifest, Manifest, Rows, SourceInfo, VirtualNode
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.tree import Hierarchy, is_document, key_prefix
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, ByteRange, Shape

_TOP = frozenset({"version", "refs", "templates", "gen", "byteatlas"})
FEW = 8
"""Up to this many chunks are looked up one by one before the whole map is loaded."""


def read_json(source: Source, where: str, options: MapReadOptions) -> VirtualNode:
    """A reference map in JSON as a tree of virtual arrays.

    Raises:
        InvalidMetadata: the text is not a reference map; the message says where.
    """
    return JsonMap(source, where, options).tree()


@dataclass(slots=True)
class _Body:
    """The parts of the map's text. ``begin`` and ``end`` enclose the references' object."""

    begin: int
    end: int = 0
    top: dict[str, JSON] = field(default_factory=dict)
    inner: list[tuple[int, int]] = field(default_factory=list)


def document(value: JSON, where: str) -> JSON:
    """A metadata document, which is JSON text (perhaps base64) or the object itself."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        raise InvalidMetadata(where, "metadata must be text or an object")
    try:
        found = json.loads(decode_text(value, where))
    except RecursionError as error:
        raise InvalidMetadata(where, "nested too deeply") from error
    except ValueError as error:
        raise InvalidMetadata(where, f"not JSON ({error})") from error
    if not isinstance(found, Mapping):
        raise InvalidMetadata(where, "metadata must be an object")
    return found


class _IndexSink:
    """Keeps the metadata documents; remembers which stretches are nested objects."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.documents: dict[str, JSON] = {}
        self.nested: list[tuple[int, int]] = []
        self.marks: list[tuple[int, bytes]] = []

    def lists(self, entries: Entries) -> None:
        """Remember the first key of each batch: it tells where an array's chunks stand."""
        begin = int(entries.key[0])
        self.marks.append((entries.base + begin, entries.data[begin : int(entries.key_end[0])].replace(b"\\/", b"/")))

    def text(self, key: str, raw: bytes) -> None:
        if is_document(key) or key == ".zmetadata":
            self._put(key, unescape(raw, self.where))

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        if isinstance(value, Mapping):
            self.nested.append((begin, end))
        if is_document(key) or key == ".zmetadata":
            self._put(key, value)

    def _put(self, key: str, value: JSON) -> None:
        if key in self.documents:
            raise InvalidMetadata(self.where, f"two entries {key!r}")
        self.documents[key] = document(value, f"{self.where}: {key}")


def consolidated(documents: dict[str, JSON], where: str) -> dict[str, JSON]:
    """The documents, with those that only consolidated metadata hold."""
    root = documents.get("zarr.json", {}).get("consolidated_metadata")
    if isinstance(root, Mapping) and isinstance(root.get("metadata"), Mapping):
        for path, value in root["metadata"].items():
            documents.setdefault(f"{path}/zarr.json", document(value, f"{where}: consolidated_metadata: {path}"))
    whole = documents.pop(".zmetadata", None)
    if whole is None:
        return documents
    inside = whole.get("metadata")
    if not isinstance(inside, Mapping):
        raise InvalidMetadata(f"{where}: .zmetadata", "no metadata inside")
    for key, value in inside.items():
        if key not in documents and is_document(key):
            documents[key] = document(value, f"{where}: .zmetadata: {key}")
    return documents


class JsonMap:
    """One JSON map: its text, its metadata, and, once loaded, the columns of all of its arrays."""

    def __init__(self, source: Source, where: str, options: MapReadOptions) -> None:
        self.where, self.options = where, options
        self._source = source
        self._lock = threading.RLock()
        self._columns: dict[str, Manifest] | None = None
        index = _IndexSink(where)
        try:
            self._body = _structure(Reader(source, where), index)
        except Irregular:
            self._source, self._body = _normalised(source, where)
            index = _IndexSink(where)
            self._body = _structure(Reader(self._source, where), index, patience=1 << 62)
        self._body.inner = index.nested
        self._marks = index.marks
        top = self._body.top
        version = top.get("version", 0)
        if version not in (0, 1) or isinstance(version, bool):
            raise InvalidMetadata(where, f"version {version!r} of the format is not known")
        self.templates = Templates.parse(top.get("templates", {}), where)
        self.gen = top.get("gen") or []
        self.table = SourceTable(source_infos(top.get("byteatlas"), where, options), options.named)
        self.documents = consolidated(index.documents, where)
        if not self.documents:
            raise InvalidMetadata(where, "no Zarr metadata in the map")
        self.hierarchy = Hierarchy(self.documents, where)
        self._metas: dict[str, ArrayMeta] = {}

    def tree(self) -> VirtualNode:
        """The tree of virtual arrays, none of whose chunks was looked at yet."""

        def attach(path: str, meta: ArrayMeta) -> Manifest:
            self._metas[path] = meta  # loading the columns asks for it again
            return LazyJson(self, path, meta)

        return self.hierarchy.build(attach)

    def meta(self, path: str) -> ArrayMeta:
        if path not in self._metas:
            self._metas[path] = self.hierarchy.array_meta(path)[0]
        return self._metas[path]

    def url(self, raw: str) -> str:
        """A URL as it is meant: templates filled in, relative ones beside the map."""
        text = self.templates.fill(raw, self.where) if self.templates.texts else raw
        return self.options.absolute(text, self.where)

    # Looking up single chunks

    def find(self, key: str, prefix: str) -> tuple[JSON, bool]:
        """The value of a key and True; None and False when the search cannot tell that it is missing.

        ``prefix`` is what the keys of the same array begin with: where such keys stand is searched first.
        """
        reader = Reader(self._source, self.where)
        likely = self._stretches(prefix.encode())
        for spelled in dict.fromkeys((key, key.replace("/", "\\/"))):
            needle = b'"' + json.dumps(spelled, ensure_ascii=False).encode()[1:-1].replace(b"\\\\/", b"\\/") + b'"'
            for begin, end in likely:
                at = self._search(reader, needle, begin, end)
                if at >= 0:
                    colon = reader.skip(at + len(needle))
                    return reader.value(reader.skip(colon + 1))[0], True
        return None, False

    def _stretches(self, prefix: bytes) -> list[tuple[int, int]]:
        """The text in stretches, those first where keys with this prefix stand."""
        edges = [self._body.begin, *(at for at, _ in self._marks), self._body.end]
        named = [False, *(key.startswith(prefix) for _, key in self._marks), False]
        likely: list[tuple[int, int]] = []
        rest: list[tuple[int, int]] = []
        for i in range(len(edges) - 1):
            (likely if named[i] or named[i + 1] else rest).append((edges[i], edges[i + 1]))
        return likely + rest

    def _search(self, reader: Reader, needle: bytes, begin: int, end: int) -> int:
        at, window = begin, 1 << 20
        while at < end:
            length = min(window + len(needle), self._body.end - at)
            reader.move(at, length)
            found = reader.data.find(needle)
            while found >= 0:
                if self._is_key(reader, at + found, len(needle)):
                    return at + found
                if reader.base != at:
                    reader.move(at, length)
                found = reader.data.find(needle, found + 1)
            at += window
            window = min(window * 2, 8 << 20)
        return -1

    def _is_key(self, reader: Reader, place: int, length: int) -> bool:
        """Whether the quoted text here is a key of the references' object itself."""
        if any(a <= place < b for a, b in self._body.inner):
            return False
        if reader.byte(reader.skip(place + length)) != ord(":"):
            return False
        before = place - 1
        while before > self._body.begin and reader.source.read([ByteRange(before, 1)])[0][0] in b" \t\r\n":
            before -= 1
        return bytes(reader.source.read([ByteRange(before, 1)])[0]) in (b",", b"{")

    # Columns

    @property
    def loaded(self) -> bool:
        return self._columns is not None

    def columns(self, path: str) -> Manifest:
        """An array's manifest from the columns of the whole map."""
        with self._lock:
            if self._columns is None:
                self._columns = self._load()
            return self._columns[path]

    def _load(self) -> dict[str, Manifest]:
        sink = ColumnSink(self)
        scan_object(Reader(self._source, self.where), self._body.begin, sink, patience=1 << 62)
        if self.gen:
            targets = sink.targets()
            for item in expand_gen(self.gen, self.templates, targets, self.where, self.options.most_generated):
                sink.generated(item)
        infos = self.table.infos
        return {path: collector.finish(infos) for path, collector in sink.collectors.items()}


def _structure(reader: Reader, index: _IndexSink, patience: int = 64) -> _Body:
    """Scan the text: the top-level members, and the references through ``index``."""
    at = reader.skip(0)
    if reader.data[at - reader.base :].startswith(b"\xef\xbb\xbf"):
        at = reader.skip(at + 3)
    if reader.byte(at) != ord("{"):
        raise reader.fail(at, "a reference map is a JSON object")
    first = reader.skip(at + 1)
    if reader.byte(first) == ord("}"):
        raise reader.fail(first, "the map is empty")
    name, _ = reader.value(first)
    if not isinstance(name, str):
        raise reader.fail(first, "a member was expected")
    if name not in _TOP:
        body = _Body(at)
        body.end = scan_object(reader, at, index, patience=patience)
        if "version" in index.documents:
            raise reader.fail(at, "version is not the first member")
        _expect_end(reader, body.end)
        return body
    return _versioned(reader, first, index, patience)


def _versioned(reader: Reader, at: int, index: _IndexSink, patience: int) -> _Body:
    body: _Body | None = None
    top: dict[str, JSON] = {}
    while True:
        key, end = reader.value(at)
        colon = reader.skip(end)
        if not isinstance(key, str) or reader.byte(colon) != ord(":"):
            raise reader.fail(at, "a member was expected")
        begin = reader.skip(colon + 1)
        if key in top or (key == "refs" and body is not None):
            raise reader.fail(at, f"two members {key!r}")
        if key == "refs":
            body = _Body(begin)
            end = body.end = scan_object(reader, begin, index, patience=patience)
        else:
            top[key], end = reader.value(begin)
        stop = reader.skip(end)
        if reader.byte(stop) == ord("}"):
            _expect_end(reader, stop + 1)
            break
        if reader.byte(stop) != ord(","):
            raise reader.fail(stop, "',' or '}' was expected")
        at = reader.skip(stop + 1)
    if body is None:
        raise InvalidMetadata(reader.where, "no member 'refs'")
    body.top = top
    return body


def _expect_end(reader: Reader, at: int) -> None:
    if reader.skip(at) < reader.size:
        raise reader.fail(at, "text behind the end of the map")


def _normalised(source: Source, where: str) -> tuple[Source, _Body]:
    """The same map as compact JSON in memory, for texts in a layout that the fast scan does not know."""

    def pairs(items: list[tuple[str, JSON]]) -> dict[str, JSON]:
        found = dict(items)
        if len(found) != len(items):
            raise InvalidMetadata(where, "a key occurs twice in one object")
        return found

    try:
        value = json.loads(bytes(source.read_all()), strict=False, object_pairs_hook=pairs)
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    except RecursionError as error:
        raise InvalidMetadata(where, "nested too deeply") from error
    except ValueError as error:
        raise InvalidMetadata(where, f"not JSON ({error})") from error
    return MemorySource(text, where), _Body(0)


def source_infos(table: JSON, where: str, options: MapReadOptions) -> dict[str, SourceInfo]:
    """What the map recorded of its sources, by absolute URL."""
    if table is None:
        return {}
    if isinstance(table, str):
        table = document(table, f"{where}: byteatlas")
    rows = table.get("sources") if isinstance(table, Mapping) else None
    if not isinstance(rows, list):
        raise InvalidMetadata(f"{where}: byteatlas", "no list of sources")
    found: dict[str, SourceInfo] = {}
    for row in rows:
        match row:
            case [str() as url, (int() | None) as size, (str() | None) as stamp]:
                absolute = options.absolute(url, where)
                found[absolute] = options.named(absolute, size, stamp)
            case _:
                raise InvalidMetadata(f"{where}: byteatlas", f"not a source: {row!r}"[:200])
    return found


class LazyJson:
    """The manifest of one array of a JSON map."""

    __slots__ = ("_counts", "_inlined", "_looked", "_map", "_meta", "_path")

    def __init__(self, of: JsonMap, path: str, meta: ArrayMeta) -> None:
        self._map, self._path, self._meta = of, path, meta
        self._counts = chunk_counts(meta.shape, meta.grid)
        self._inlined: dict[int, bytes] = {}
        self._looked = 0

    @property
    def grid_shape(self) -> Shape:
        return self._counts

    @property
    def sources(self) -> tuple[SourceInfo, ...]:
        """The sources met so far: ask for rows first."""
        return self._map.table.infos

    def rows(self, chunks: NDArray[np.int64]) -> Rows:
        if not self._map.loaded and self._looked + len(chunks) <= FEW and not self._map.gen:
            self._looked += len(chunks)
            found = self._look(chunks)
            if found is not None:
                return found
        return self._map.columns(self._path).rows(chunks)

    def _look(self, chunks: NDArray[np.int64]) -> Rows | None:
        source = np.empty(len(chunks), np.int32)
        offset, length = np.zeros(len(chunks), np.uint64), np.zeros(len(chunks), np.uint64)
        for i, flat in enumerate(chunks.tolist()):
            value, sure = self._map.find(self._key(flat), key_prefix(self._path, self._meta.keys, len(self._counts)))
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
        prefix = key_prefix(self._path, keys, ndim)
        if not ndim:
            return prefix + keys.suffix
        return prefix + keys.separator.join(str(int(i)) for i in np.unravel_index(flat, self._counts)) + keys.suffix

    def inline(self, chunk: int) -> bytes:
        if chunk in self._inlined:
            return self._inlined[chunk]
        try:
            return self._map.columns(self._path).inline(chunk)
        except KeyError as error:
            raise NotFound(f"chunk {chunk} of {self._path!r} is not inline") from error

    def load(self) -> ChunkManifest:
        return self._map.columns(self._path).load()
