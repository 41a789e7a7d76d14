"""Kerchunk's JSON reference maps, written as columns: a block of chunks becomes text without an object per chunk.

The text is compact, ``version`` first and ``refs`` second: GDAL recognises a map by exactly these first bytes.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.io.output import Sink
from byteatlas.manifest.json.few_rows import FEW, few_rows, positions
from byteatlas.manifest.kinds.sparse import writable_total
from byteatlas.manifest.model import INLINE, WHOLE, SourceInfo, VirtualNode
from byteatlas.manifest.ops.version3 import as_version3
from byteatlas.manifest.options import MapWriteOptions, TellArray
from byteatlas.manifest.tree import WrittenArray, key_prefix, node_documents
from byteatlas.meta.dtypes.names import PLAIN, STRING
from byteatlas.meta.json_text import json_text, quoted
from byteatlas.meta.model import RegularGrid
from byteatlas.types import JSON
from byteatlas.values import dataclass

TextColumn = bytes | NDArray[np.void]


def compact(value: JSON) -> str:
    """JSON text without white space, not escaped to ASCII."""
    return json_text(value)


def inline_text(data: bytes) -> str:
    """Inline bytes as a map holds them: text where that is unambiguous, else base64."""
    if not data.startswith(b"base64:"):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            pass
        else:
            if text.isprintable() or text.replace("\n", "").replace("\t", "").isprintable():
                return text
    return "base64:" + b2a_base64(data, newline=False).decode()


def write_json(
    node: VirtualNode, sink: Sink, options: MapWriteOptions, version: int = 1, tell: TellArray | None = None
) -> None:
    """Write a tree as one JSON text.

    Raises:
        Unsupported: an array that no metadata version can express.
    """
    documents, arrays, mixed = _documents(node, options)
    if options.consolidated or mixed:
        documents = consolidate(documents)
    plain = options
    head = ""
    if options.templates and version == 1:
        from byteatlas.manifest.json.templates.regular import shortened

        arrays, options, templates, gen = shortened(arrays, options)
        head = (f'"templates":{compact(templates)},' if templates else "") + (f'"gen":{compact(gen)},' if gen else "")
    sink.write(f'{{"version":1,{head}"refs":{{'.encode() if version == 1 else b"{")
    rows = (quoted(key) + b":" + quoted(compact(value)) for key, value in documents.items())
    sink.write(b",".join(rows))
    seen: dict[str, SourceInfo] = {}
    for number, array in enumerate(arrays):
        if tell is not None:
            tell(array.path, number, len(arrays))
        _write_chunks(array, sink, options, seen)
    sink.write(b"}")
    if version == 1:
        if plain.sources and (table := source_rows(seen, plain)):
            # As text: GDAL's parser of such maps stops at a list outside of a reference.
            sink.write(b',"byteatlas":' + quoted(compact({"sources": table})))
        sink.write(b"}")


def _documents(node: VirtualNode, options: MapWriteOptions) -> tuple[dict[str, JSON], list[WrittenArray], bool]:
    """The documents and arrays of one version, and whether the tree has both in its shortest form.

    Readers show the nodes of one version only, without a word about the others.
    """
    if options.zarr_format == 3:
        return *node_documents(as_version3(node)), False
    documents, arrays = node_documents(node)
    versions = {key.endswith("zarr.json") for key in documents}
    if len(versions) < 2 or options.zarr_format == 2 or not all(_is_usual(array) for array in arrays):
        return documents, arrays, False
    return *node_documents(as_version3(node)), True


def _is_usual(array: WrittenArray) -> bool:
    """Uneven chunks and rare types: readers that do not know them would open nothing of a tree of one version."""
    kind = array.meta.data_type
    return isinstance(array.meta.grid, RegularGrid) and (kind.numpy in PLAIN or kind.name == STRING.name)


def consolidate(documents: Mapping[str, JSON]) -> dict[str, JSON]:
    """The documents with one more that holds them all: ``.zmetadata`` for version 2, the root's own for version 3."""
    found = dict(documents)
    second = {k: v for k, v in documents.items() if not k.endswith("zarr.json")}
    if second:
        found[".zmetadata"] = {"zarr_consolidated_format": 1, "metadata": second}
    root = documents.get("zarr.json")
    if root is not None and root.get("node_type") == "group":
        third = {k.rpartition("/")[0]: v for k, v in documents.items() if k.endswith("/zarr.json")}
        inside = {"kind": "inline", "must_understand": False, "metadata": third}
        found["zarr.json"] = {**root, "consolidated_metadata": inside}
    return found


def source_rows(seen: Mapping[str, SourceInfo], options: MapWriteOptions) -> list[list[JSON]]:
    """The source table of a map: ``[url, size, stamp]`` for those of which something is known."""
    return [[options.shown(s.url), s.size, s.stamp] for s in seen.values() if s.size is not None or s.stamp is not None]


@dataclass(frozen=True, slots=True)
class _Urls:
    """Quoted URLs of an array's sources: a fixed-width table, or single ones where that would be large."""

    quoted: list[bytes]
    table: NDArray[np.void] | None

    @staticmethod
    def of(sources: tuple[SourceInfo, ...], options: MapWriteOptions) -> _Urls:
        texts = [quoted(options.shown(s.url)) for s in sources]
        width = max(map(len, texts), default=1)
        if len(texts) == 1 or width * len(texts) > 16 << 20:
            return _Urls(texts, None)
        return _Urls(texts, _column(texts, width))

    def column(self, which: NDArray[np.int32]) -> TextColumn:
        first = int(which[0])
        if (which == first).all():
            return self.quoted[first]
        if self.table is not None:
            return self.table[which]
        distinct, place = np.unique(which, return_inverse=True)
        texts = [self.quoted[i] for i in distinct.tolist()]
        found: NDArray[np.void] = _column(texts, max(map(len, texts)))[place]
        return found


def _column(texts: list[bytes], width: int) -> NDArray[np.void]:
    return np.array(texts, dtype=f"S{width}").view(f"V{width}")


def _write_chunks(array: WrittenArray, sink: Sink, options: MapWriteOptions, seen: dict[str, SourceInfo]) -> None:
    counts = array.manifest.grid_shape
    total = writable_total(counts)
    prefix = quoted(key_prefix(array.path, array.meta.keys, len(counts)))[:-1]
    urls: _Urls | None = None
    sources: tuple[SourceInfo, ...] = ()
    for begin in range(0, total, options.block):
        chunks = np.arange(begin, min(begin + options.block, total), dtype=np.int64)
        rows = array.manifest.rows(chunks)
        if urls is None or len(array.manifest.sources) != len(sources):
            sources = array.manifest.sources
            urls = _Urls.of(sources, options)
            seen.update((s.url, s) for s in sources)
        plain = (rows.source >= 0) & (rows.length != WHOLE) & (rows.length != 0)
        if plain.all():
            if len(chunks) == total <= FEW:
                places = positions(counts, array.meta.keys.separator) if counts else ("",)
                sink.write(few_rows(prefix, places, _suffix(array) + b'":[', urls.quoted, rows))
                continue
            _write_block(sink, prefix, array, chunks, urls.column(rows.source), (rows.offset, rows.length))
            continue
        if plain.any():
            column = urls.column(rows.source[plain])
            _write_block(sink, prefix, array, chunks[plain], column, (rows.offset[plain], rows.length[plain]))
        whole = (rows.source >= 0) & (rows.length == WHOLE)
        if whole.any():
            _write_block(sink, prefix, array, chunks[whole], urls.column(rows.source[whole]), None)
        for chunk in chunks[(rows.source == INLINE) | ((rows.source >= 0) & (rows.length == 0))].tolist():
            data = array.manifest.inline(chunk) if rows.source[chunk - begin] == INLINE else b""
            key = prefix + _tail(chunk, counts, array.meta.keys.separator) + _suffix(array) + b'":'
            sink.write(b"," + key + quoted(inline_text(data)))


def _suffix(array: WrittenArray) -> bytes:
    return quoted(array.meta.keys.suffix)[1:-1]


def _tail(chunk: int, counts: tuple[int, ...], separator: str) -> bytes:
    if not counts:
        return b""
    return separator.join(str(int(i)) for i in np.unravel_index(chunk, counts)).encode()


def _write_block(
    sink: Sink,
    prefix: bytes,
    array: WrittenArray,
    chunks: NDArray[np.int64],
    url: TextColumn,
    numbers: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None,
) -> None:
    """One block of ``"key":["url",offset,length]`` entries, each after a comma."""
    counts = array.manifest.grid_shape
    columns: list[TextColumn] = [b"," + prefix]
    separator = array.meta.keys.separator.encode()
    for axis, index in enumerate(np.unravel_index(chunks, counts) if counts else ()):
        columns += [separator] * (axis > 0)
        columns.append(decimal(index.astype(np.uint64)))
    columns += [_suffix(array) + b'":[', url]
    for column in numbers or ():
        columns += [b",", decimal(column)]
    columns.append(b"]")
    sink.write(joined(columns, len(chunks)))


def joined(columns: list[TextColumn], rows: int) -> bytes:
    """Rows of text: constant text and fixed-width columns side by side, all NUL padding taken out."""
    widths = [len(p) if isinstance(p, bytes) else p.dtype.itemsize for p in columns]
    total = sum(widths)
    template = b"".join(p if isinstance(p, bytes) else bytes(w) for p, w in zip(columns, widths, strict=True))
    block = np.frombuffer(template, f"V{total}").repeat(rows)
    at = 0
    for column, width in zip(columns, widths, strict=True):
        if not isinstance(column, bytes):
            place = np.dtype({"names": ["x"], "formats": [column.dtype], "offsets": [at], "itemsize": total})
            block.view(place)["x"] = column
        at += width
    return block.tobytes().translate(None, b"\0")


def _tables() -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Four digits as one 32-bit word: 10000 words without leading zeros, then 10000 with them.

    In the first table zero is nothing at all (higher digits stand before), in the second ``0``.
    """
    numbers = np.arange(10000)
    full = np.empty((10000, 4), np.uint8)
    bare = np.empty((10000, 4), np.uint8)
    for place, power in enumerate((1000, 100, 10, 1)):
        full[:, place] = numbers // power % 10 + ord("0")
        bare[:, place] = np.where(numbers >= power, full[:, place], 0)
    bare[0, 3] = ord("0")
    last = np.concatenate([bare, full]).view(np.uint32).reshape(-1)
    inner = last.copy()
    inner[0] = 0
    return inner, last


_INNER, _LAST = _tables()


def decimal(values: NDArray[np.uint64]) -> TextColumn:
    """A column of numbers as decimal text, four digits at a time; unused places are NUL.

    >>> decimal(np.array([7, 10000], np.uint64)).tobytes().translate(None, bytes(1))
    b'710000'
    """
    most = int(values.max())
    if most == int(values.min()):
        return b"%d" % most
    groups = -(-len(str(most)) // 4)
    out = np.empty((len(values), groups), np.uint32)
    ten = np.uint64(10000)
    rest = values
    for place in range(groups - 1, 0, -1):
        high = rest // ten
        low = (rest - high * ten).astype(np.int32)
        low[high > 0] += 10000
        out[:, place] = (_LAST if place == groups - 1 else _INNER)[low]
        rest = high
    out[:, 0] = (_LAST if groups == 1 else _INNER)[rest.astype(np.int32)]
    return out.reshape(-1).view(f"V{4 * groups}")
