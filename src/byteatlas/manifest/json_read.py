"""Kerchunk's JSON reference maps, version 0 and 1, read lazily.

Opening scans the text once for its structure (that is: for quotes, with NumPy) and keeps only metadata. A few chunks
are then looked up by searching the text for their keys; when many are asked for, the whole map becomes columns.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata, NotFound
from byteatlas.io.memory import MemorySource
from byteatlas.io.source import Source
from byteatlas.manifest.fields import grid_positions, two_numbers
from byteatlas.manifest.json_tokens import Entries, Irregular, Reader, scan_object, unescape
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, ChunkManifest, Manifest, Rows, SourceInfo, VirtualNode
from byteatlas.manifest.options import ReadOptions
from byteatlas.manifest.strings import intern_urls
from byteatlas.manifest.table import Collector, SourceTable
from byteatlas.manifest.template import Templates, expand_gen
from byteatlas.manifest.tree import Hierarchy, is_document, key_prefix
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, ChunkKeys
from byteatlas.types import JSON, ByteRange, Shape

_TOP = frozenset({"version", "refs", "templates", "gen", "byteatlas"})
_CHUNK_LIKE = re.compile(r"(c[./])?\d+([./]\d+)*\Z")
FEW = 8
"""Up to this many chunks are looked up one by one before the whole map is loaded."""
LARGEST = (1 << 63) - 1


def read_json(source: Source, where: str, options: ReadOptions) -> VirtualNode:
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


def decode_text(text: str, where: str) -> bytes:
    """The bytes of an inline value: text, or base64 after ``base64:``."""
    try:
        if text.startswith("base64:"):
            return base64.b64decode(text[7:].encode(), validate=True)
        return text.encode()
    except (binascii.Error, UnicodeError, ValueError) as error:
        raise InvalidMetadata(where, f"inline data that do not decode ({error})") from error


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

    def __init__(self, source: Source, where: str, options: ReadOptions) -> None:
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
        self.table = SourceTable(source_infos(top.get("byteatlas"), where, options))
        self.documents = consolidated(index.documents, where)
        if not self.documents:
            raise InvalidMetadata(where, "no Zarr metadata in the map")
        self.hierarchy = Hierarchy(self.documents, where)
        self._metas: dict[str, ArrayMeta] = {}

    def tree(self) -> VirtualNode:
        """The tree of virtual arrays, none of whose chunks was looked at yet."""
        return self.hierarchy.build(lambda path, meta: LazyJson(self, path, meta))

    def meta(self, path: str) -> ArrayMeta:
        if path not in self._metas:
            self._metas[path] = self.hierarchy.array_meta(path)[0]
        return self._metas[path]

    def url(self, raw: str) -> str:
        """A URL as it is meant: templates filled in, relative ones beside the map."""
        return self.options.absolute(self.templates.fill(raw, self.where), self.where)

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
        sink = _ColumnSink(self)
        scan_object(Reader(self._source, self.where), self._body.begin, sink, patience=1 << 62)
        for key, value in expand_gen(self.gen, self.templates, self.where, self.options.most_generated):
            sink.other(key, value, 0, 0)
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


def source_infos(table: JSON, where: str, options: ReadOptions) -> dict[str, SourceInfo]:
    """What the map recorded of its sources, by absolute URL."""
    if table is None:
        return {}
    rows = table.get("sources") if isinstance(table, Mapping) else None
    if not isinstance(rows, list):
        raise InvalidMetadata(f"{where}: byteatlas", "no list of sources")
    found: dict[str, SourceInfo] = {}
    for row in rows:
        match row:
            case [str() as url, (int() | None) as size, (str() | None) as stamp]:
                absolute = options.absolute(url, where)
                found[absolute] = SourceInfo(absolute, size, stamp)
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
            match parse_reference(value, where):
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


def parse_reference(value: JSON, where: str) -> bytes | tuple[str, int, int | None]:
    """One reference: inline bytes, or (URL, offset, length); length None means the whole file."""
    match value:
        case str():
            return decode_text(value, where)
        case Mapping():
            return json.dumps(value, separators=(",", ":")).encode()
        case [str() as url]:
            return url, 0, None
        case [str() as url, int() as offset, int() as length] if not isinstance(offset, bool) | isinstance(
            length, bool
        ):
            if offset < 0 or length < 0 or offset + length > LARGEST:
                raise InvalidMetadata(where, f"impossible byte range {offset}+{length}"[:200])
            return (url, offset, length) if length else b""
        case _:
            raise InvalidMetadata(where, f"not a reference: {str(value)[:120]}")


class _ColumnSink:
    """Collects every array's rows."""

    def __init__(self, of: JsonMap) -> None:
        self._map = of
        self.collectors: dict[str, Collector] = {}
        self._prefixes: dict[str, str] = {}
        self._scalars: dict[str, str] = {}
        self._urls: dict[bytes, int] = {}
        for path in of.hierarchy.arrays:
            meta = of.meta(path)
            counts = chunk_counts(meta.shape, meta.grid)
            self.collectors[path] = Collector(counts, f"{of.where}: {path or '/'}")
            prefix = key_prefix(path, meta.keys, len(counts))
            if counts:
                self._prefixes[prefix] = path
            else:
                self._scalars[prefix + meta.keys.suffix] = path
                if meta.keys.kind == "v2":  # VirtualiZarr wrote scalars under "x/"
                    self._scalars[prefix[:-1]] = path

    def _owner(self, key: str) -> tuple[str, str] | None:
        """The array that a chunk key belongs to, and the prefix of its keys."""
        if key in self._scalars:
            return self._scalars[key], key
        cut = len(key)
        while cut > 0:
            cut = max(key.rfind("/", 0, cut), key.rfind("c.", 0, cut) + 1 if "c." in key[:cut] else -1)
            if cut < 0:
                break
            if key[: cut + 1] in self._prefixes:
                return self._prefixes[key[: cut + 1]], key[: cut + 1]
        return (self._prefixes[""], "") if "" in self._prefixes else None

    def lists(self, entries: Entries) -> None:
        numbers = intern_urls(entries, self._urls, self._number)
        offset, length, good = two_numbers(entries.view, entries.tail, entries.tail_end)
        whole = entries.tail_end == entries.tail
        length[whole] = WHOLE
        bad = ~good & ~whole
        end = offset + np.where(whole, np.uint64(0), length)
        bad |= (offset > LARGEST) | (end > LARGEST)
        if bad.any():
            self._complain(entries, int(np.argmax(bad)))
        at = 0
        while at < len(entries):
            at = self._run(entries, at, numbers, offset, length)

    def _number(self, raw: bytes) -> int:
        return self._map.table.number(self._map.url(unescape(raw, self._map.where)))

    def _complain(self, entries: Entries, i: int) -> None:
        key = entries.data[entries.key[i] : entries.key_end[i]]
        text = entries.data[entries.value[i] - 1 : entries.tail_end[i]]
        raise InvalidMetadata(self._map.where, f"{key[:80]!r}: not a reference: [{text[-120:]!r}]")

    def _run(
        self,
        entries: Entries,
        at: int,
        numbers: NDArray[np.int32],
        offset: NDArray[np.uint64],
        length: NDArray[np.uint64],
    ) -> int:
        """Take the entries from ``at`` on that belong to one array; where the next run begins."""
        raw = entries.data[entries.key[at] : entries.key_end[at]]
        key = unescape(raw, self._map.where)
        owner = self._owner(key)
        if owner is None:
            return at + 1  # a key that belongs to no array says nothing
        path, prefix = owner
        meta, collector = self._map.meta(path), self.collectors[path]
        if not collector.grid_shape:
            self._take(collector, np.zeros(1, np.int64), slice(at, at + 1), numbers, offset, length)
            return at + 1
        mark = _raw_prefix(raw, key, prefix)
        stop = _matching(entries, at, mark)
        begin, end = entries.key[at:stop] + len(mark), entries.key_end[at:stop]
        suffix = json.dumps(meta.keys.suffix, ensure_ascii=False).encode()[1:-1]
        flat, good = grid_positions(
            entries.view, begin, end - len(suffix), collector.grid_shape, ord(meta.keys.separator)
        )
        if suffix:
            last = entries.view[end[:, None] + np.arange(-len(suffix), 0)]
            good &= (last == np.frombuffer(suffix, np.uint8)).all(axis=1)
        if not good.all():
            for i in np.flatnonzero(~good).tolist():
                tail = entries.data[begin[i] : entries.key_end[at + i]]
                check_stray(unescape(tail, self._map.where), meta, prefix, self._map.where)
            some = np.flatnonzero(good)
            self._take(collector, flat[some], some + at, numbers, offset, length)
        else:
            self._take(collector, flat, slice(at, stop), numbers, offset, length)
        return stop

    def _take(
        self,
        collector: Collector,
        flat: NDArray[np.int64],
        which: slice | NDArray[np.int64],
        numbers: NDArray[np.int32],
        offset: NDArray[np.uint64],
        length: NDArray[np.uint64],
    ) -> None:
        sizes = length[which]
        empty = sizes == 0
        if not empty.any():
            collector.add(flat, numbers[which], offset[which], sizes)
            return
        for chunk in flat[empty].tolist():  # a reference to no bytes is bytes: none
            collector.add_inline(chunk, b"")
        rest = ~empty
        collector.add(flat[rest], numbers[which][rest], offset[which][rest], sizes[rest])

    def text(self, key: str, raw: bytes) -> None:
        if not is_document(key):
            self.other(key, unescape(raw, self._map.where), 0, 0)

    def other(self, key: str, value: JSON, begin: int, end: int) -> None:
        if is_document(key) or key == ".zmetadata":
            return
        owner = self._owner(key)
        if owner is None:
            return
        path, prefix = owner
        meta, collector = self._map.meta(path), self.collectors[path]
        where = f"{self._map.where}: {key}"
        flat = 0
        if collector.grid_shape:
            found = position(key[len(prefix) :], collector.grid_shape, meta.keys)
            if found is None:
                check_stray(key[len(prefix) :], meta, prefix, self._map.where)
                return
            flat = found
        match parse_reference(value, where):
            case bytes() as data:
                collector.add_inline(flat, data)
            case (url, offset, size):
                number = self._map.table.number(self._map.url(url))
                collector.add(
                    np.array([flat], np.int64),
                    np.array([number], np.int32),
                    np.array([offset], np.uint64),
                    np.array([WHOLE if size is None else size], np.uint64),
                )


def position(tail: str, counts: Shape, keys: ChunkKeys) -> int | None:
    """The flat index of a chunk from the end of its key; None when it is none of the grid's."""
    if not tail.endswith(keys.suffix):
        return None
    parts = tail.removesuffix(keys.suffix).split(keys.separator)
    if len(parts) != len(counts):
        return None
    flat = 0
    for part, n in zip(parts, counts, strict=True):
        if not (part.isascii() and part.isdigit()) or len(part) > 18 or (part[0] == "0" and len(part) > 1):
            return None
        if int(part) >= n:
            return None
        flat = flat * n + int(part)
    return flat


def check_stray(tail: str, meta: ArrayMeta, prefix: str, where: str) -> None:
    """Complain of a key that looks like a chunk in another key encoding than the array's own.

    Such a chunk would silently read as fill. Chunks outside of the grid are legal: a shrunk array leaves them behind.
    """
    if not _CHUNK_LIKE.match(tail):
        return
    parts = tail.removesuffix(meta.keys.suffix).split(meta.keys.separator)
    if len(parts) == meta.ndim and all(p.isdigit() and (p == "0" or p[0] != "0") for p in parts):
        return
    raise InvalidMetadata(where, f"key {prefix + tail!r} does not fit the array's chunk key encoding {meta.keys}")


def _raw_prefix(raw: bytes, key: str, prefix: str) -> bytes:
    """The still escaped form of a key's prefix."""
    tail = key[len(prefix) :].encode()
    for spelled in (tail, tail.replace(b"/", b"\\/")):
        if raw.endswith(spelled):
            return raw[: len(raw) - len(spelled)]
    return raw


def _matching(entries: Entries, at: int, mark: bytes) -> int:
    """The end of the run of entries from ``at`` on whose keys begin with ``mark``."""
    if not mark:
        return len(entries)
    wanted = np.frombuffer(mark, np.uint8)
    columns = np.arange(len(mark))
    limit = len(entries.view) - 1
    stop, step = at + 1, 16
    while stop < len(entries):
        keys = entries.key[stop : stop + step]
        place = np.minimum(keys[:, None] + columns, limit)
        same = (entries.view[place] == wanted).all(axis=1)
        same &= entries.key_end[stop : stop + step] - keys >= len(mark)
        if not same.all():
            return stop + int(np.argmin(same))
        stop += len(keys)
        step = min(step * 4, 1 << 14)
    return stop


__all__ = ["INLINE", "MISSING", "JsonMap", "LazyJson", "read_json"]
