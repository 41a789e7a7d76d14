"""One variable of a DMR++ document: its type, its filters, its chunks. What is not described completely is refused."""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from byteatlas.errors import CorruptFile, InvalidMetadata, Unsupported
from byteatlas.manifest.kinds.sparse import Collector
from byteatlas.manifest.model import Manifest, SourceInfo, VirtualArray, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas_scanners.dmrpp.files import DataFiles
from byteatlas_scanners.dmrpp.xml import CHUNK, DMRPP, LARGEST, Element, integer

TYPES: Mapping[str, str] = {
    **{"Byte": "u1", "UByte": "u1", "UInt8": "u1", "Int8": "i1", "Int16": "i2", "UInt16": "u2", "Int32": "i4"},
    **{"UInt32": "u4", "Int64": "i8", "UInt64": "u8", "Float32": "f4", "Float64": "f8"},
}
"""DAP4's atomic types as NumPy's."""
_POSITION = re.compile(r"\[\s*\d{1,18}(\s*,\s*\d{1,18})*\s*\]")


class DAPVariable(NamedTuple):
    """A variable's element, and what its surroundings say of it."""

    node: Element
    kind: str
    shape: Shape
    names: tuple[str | None, ...]
    attributes: Mapping[str, JSON]


def to_array(variable: DAPVariable, files: DataFiles) -> VirtualArray:
    """A variable as an array. Raises `Unsupported`, `InvalidMetadata`, `CorruptFile` (chunks outside of the file)."""
    node, kind, shape, names, attributes = variable
    dtype = _dtype(node, kind)
    chunks = node.findall(f"{DMRPP}chunks")
    if len(chunks) > 1:
        raise Unsupported(Reason.LAYOUT, "more than one description of its chunks")
    about = chunks[0] if chunks else None
    sizes = None if about is None else about.findtext(f"{DMRPP}chunkDimensionSizes")
    chunk_shape = shape if sizes is None else tuple(integer(s) for s in sizes.split())
    if len(chunk_shape) != len(shape) or (0 in chunk_shape and 0 not in shape):
        raise InvalidMetadata("", f"chunks {chunk_shape} for shape {shape}")
    meta = ArrayMeta(
        shape,
        from_numpy(dtype),
        RegularGrid(tuple(max(c, 1) for c in chunk_shape)),
        (Encoding((_byte_order(about, dtype), *_filters(about, dtype))),),
        _fill(None if about is None else about.get("fillValue"), dtype),
        names if any(names) else None,
        attributes,
    )
    return VirtualArray(meta, _manifest(node, about, meta, files, sizes is not None))


def _byte_order(about: Element | None, dtype: np.dtype[Any]) -> CodecSpec:
    big = about is not None and about.get("byteOrder") == "BE"
    plain = dtype.itemsize == 1 or dtype.kind == "S"
    return CodecSpec("bytes", {} if plain else {"endian": "big" if big else "little"})


def _manifest(node: Element, about: Element | None, meta: ArrayMeta, files: DataFiles, chunked: bool) -> Manifest:
    counts = chunk_counts(meta.shape, meta.grid)
    size = math.prod(meta.shape) * meta.data_type.numpy.itemsize
    compact = node.find(f"{DMRPP}compact")
    if compact is not None:
        data = _decoded(compact.text)
        if len(data) != size or len(meta.codecs) > 1:
            raise Unsupported(Reason.LAYOUT, f"{len(data)} bytes of compact data where {size} are expected")
        return inline_manifest(counts, {0: data} if size else {})
    if about is None or about.get("LBIndex") is not None:
        raise Unsupported(Reason.LAYOUT, "its values are not described as chunks of a file")
    found = about.findall(CHUNK)
    if not chunked and (len(found) != 1 or (len(meta.codecs) == 1 and found[0].get("nBytes") != str(size))):
        if not size and not found:
            return inline_manifest(counts, {})
        raise Unsupported(Reason.LAYOUT, "its bytes are not one contiguous stretch")
    return _collected(found, meta, counts, files)


def _collected(chunks: list[Element], meta: ArrayMeta, counts: Shape, files: DataFiles) -> Manifest:
    assert isinstance(meta.grid, RegularGrid)
    sources: dict[SourceInfo, int] = {files.by_href[None]: 0}
    rows: list[tuple[int, int, int, int]] = []
    for item in chunks:
        if item.get("offset") is None and item.get("fillValue") is not None:
            continue  # never written
        offset, length = _range(item)
        file = files.by_href[item.get("href") or item.get(f"{DMRPP}href") or None]
        if file.size is not None and offset + length > file.size:
            raise CorruptFile(offset, f"a chunk of {length} bytes lies outside of the file", file.url)
        place = _position(item, meta.grid.chunk_shape, counts)
        rows.append((place, sources.setdefault(file, len(sources)), offset, length))
    collector = Collector(counts, "")
    if rows:
        flat, source, at, size = (np.array(column) for column in zip(*rows, strict=True))
        collector.add(flat.astype(np.int64), source.astype(np.int32), at.astype(np.uint64), size.astype(np.uint64))
    return collector.finish(tuple(sources))


def _range(item: Element) -> tuple[int, int]:
    """Offset and length of a chunk. Raises `Unsupported` for one that is not a plain range."""
    offset, length = integer(item.get("offset")), integer(item.get("nBytes"))
    if offset + length > LARGEST:
        raise InvalidMetadata("", "an impossible byte range")
    if any((item.get(key) or "0").strip("0x") for key in ("filterMask", "filter_mask")):
        raise Unsupported(Reason.FILTER, "chunks that skip some of the filters")
    if any(item.get(key) is not None for key in ("LBIndex", "linkedBlockIndex", "SubBlockIndex")):
        raise Unsupported(Reason.LAYOUT, "chunks in several blocks")
    return offset, length


def _position(item: Element, shape: Shape, counts: Shape) -> int:
    """A chunk's place in the grid. Raises `InvalidMetadata`."""
    where = item.get("chunkPositionInArray")
    if where is None:
        if math.prod(counts) > 1:
            raise InvalidMetadata("", "a chunk without a position")
        return 0
    if not _POSITION.fullmatch(where):
        raise InvalidMetadata("", f"{where!r} is not a position")
    place = [int(p) for p in where.strip("[]").split(",")]
    if len(place) != len(shape) or any(p % s for p, s in zip(place, shape, strict=False)):
        raise InvalidMetadata("", f"no chunk of {shape} begins at {where}")
    flat = 0
    for p, s, n in zip(place, shape, counts, strict=True):
        if p // s >= n:
            raise InvalidMetadata("", f"{where} is outside of the array")
        flat = flat * n + p // s
    return flat


def _dtype(node: Element, kind: str) -> np.dtype[Any]:
    if kind in TYPES:
        return np.dtype(TYPES[kind])
    fixed = node.find(f"{DMRPP}FixedLengthStringArray")
    length = None if fixed is None else fixed.get("string_length")
    if kind == "String" and length is not None and length.isdigit() and 0 < int(length) < 1 << 20:
        return np.dtype(f"S{int(length)}")
    raise Unsupported(Reason.DATATYPE, f"DAP4 type {kind}")


def _filters(about: Element | None, dtype: np.dtype[Any]) -> list[CodecSpec]:
    names = (about.get("compressionType") or "").split() if about is not None else []
    levels = (about.get("deflateLevel") or "").split() if about is not None else []
    found = []
    for name in names:
        match name:
            case "deflate":
                level = levels.pop(0) if levels else "6"
                if not level.isdigit() or int(level) > 9:
                    raise Unsupported(Reason.FILTER, f"deflate level {level!r}")
                found.append(CodecSpec("numcodecs.zlib", {"level": int(level)}))
            case "shuffle":
                found.append(CodecSpec("numcodecs.shuffle", {"elementsize": dtype.itemsize}))
            case "fletcher32":
                found.append(CodecSpec("numcodecs.fletcher32"))
            case _:
                raise Unsupported(Reason.FILTER, f"filter {name!r}")
    return found


def _fill(text: str | None, dtype: np.dtype[Any]) -> object:
    try:
        if dtype.kind == "S":
            return dtype.type(b"" if text is None else text.encode())
        if text is None or not text.strip():
            return dtype.type(0)
        return dtype.type(float(text)) if dtype.kind == "f" else dtype.type(int(text))
    except (ValueError, OverflowError) as error:
        raise Unsupported(Reason.DATATYPE, f"fill value {text!r} of type {dtype}") from error


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode("".join((text or "").split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unsupported(Reason.LAYOUT, "compact data that do not decode") from error
