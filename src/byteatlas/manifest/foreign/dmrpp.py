"""OPeNDAP's DMR++ side files as a source of references: the XML that Hyrax writes beside an HDF5 file.

A variable that the XML does not describe completely is refused in the report, never guessed.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.io.source import Source
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.model import Manifest, ReportItem, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.tree import MOST_LEVELS
from byteatlas.markup import parse_xml
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.types import JSON, Shape

DAP = "{http://xml.opendap.org/ns/DAP/4.0#}"
DMRPP = "{http://xml.opendap.org/dap/dmrpp/1.0.0#}"
TYPES: Mapping[str, str] = {
    **{"Byte": "u1", "UByte": "u1", "UInt8": "u1", "Int8": "i1", "Int16": "i2", "UInt16": "u2", "Int32": "i4"},
    **{"UInt32": "u4", "Int64": "i8", "UInt64": "u8", "Float32": "f4", "Float64": "f8"},
}
NOT_VARIABLES = frozenset({"Dimension", "Attribute", "Group", "Enumeration", "Dim"})
GLOBALS = frozenset({"HDF5_GLOBAL", "NC_GLOBAL"})
PLACEHOLDER = "OPeNDAP_DMRpp_DATA_ACCESS_URL"
_POSITION = re.compile(r"\[\s*\d{1,18}(\s*,\s*\d{1,18})*\s*\]")
LARGEST = (1 << 63) - 1


def read_dmrpp(source: Source, where: str, options: MapReadOptions) -> VirtualGroup:
    """A DMR++ document as a tree of virtual arrays, with a report.

    Raises:
        InvalidMetadata: it is not a DMR++ document.
    """
    data = bytes(source.read_all())
    text = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    try:
        root = parse_xml(text)
    except ValueError as error:
        raise InvalidMetadata(where, f"not a DMR++ document: {error}") from error
    if root.tag != f"{DAP}Dataset":
        raise InvalidMetadata(where, "not a DAP4 dataset")
    return _Document(root, where, options).group(root, "", 0)


class _Document:
    def __init__(self, root: Element, where: str, options: MapReadOptions) -> None:
        self.where, self.options = where, options
        self.data = self._url(root.get(f"{DMRPP}href"))
        self.dimensions: dict[str, int] = {}
        self._collect(root, "", 0)

    def _url(self, href: str | None) -> str:
        """The data file: beside the document, unless that names an absolute URL."""
        if href and "://" in href and not href.startswith(PLACEHOLDER):
            return self.options.absolute(href, self.where)
        if self.where.endswith(".dmrpp"):
            beside = self.where.removesuffix(".dmrpp")
            return beside if self.options.rename is None else self.options.rename(beside)
        if href and not href.startswith(PLACEHOLDER):
            return self.options.absolute(href, self.where)
        raise InvalidMetadata(self.where, "it does not say where its data are")

    def _collect(self, node: Element, prefix: str, depth: int) -> None:
        if depth > MOST_LEVELS:
            raise InvalidMetadata(self.where, f"more than {MOST_LEVELS} levels of groups")
        for item in node.findall(f"{DAP}Dimension"):
            self.dimensions[f"{prefix}/{item.get('name')}"] = self._integer(item.get("size"))
        for item in node.findall(f"{DAP}Group"):
            self._collect(item, f"{prefix}/{item.get('name')}", depth + 1)

    def _integer(self, text: str | None) -> int:
        if text is None or not text.strip().isascii() or not text.strip().isdigit() or len(text) > 19:
            raise InvalidMetadata(self.where, f"{text!r} where a number is expected")
        number = int(text)
        if number > LARGEST:
            raise InvalidMetadata(self.where, f"{text} is too large")
        return number

    def group(self, node: Element, path: str, depth: int) -> VirtualGroup:
        arrays: dict[str, VirtualArray] = {}
        report: list[ReportItem] = []
        for item in node:
            kind = item.tag.removeprefix(DAP)
            name = item.get("name") or ""
            if not item.tag.startswith(DAP) or kind in NOT_VARIABLES:
                continue
            below = f"{path}/{name}" if path else name
            try:
                self._check_name(name, arrays)
                arrays[name] = self._variable(item, kind, path)
            except (Unsupported, InvalidMetadata) as error:
                reason = error.reason if isinstance(error, Unsupported) else "corrupt"
                report.append(ReportItem(below, "refused", reason, getattr(error, "detail", str(error))))
            else:
                report.append(ReportItem(below, "virtual"))
        groups: dict[str, VirtualGroup] = {}
        for item in node.findall(f"{DAP}Group"):
            name = item.get("name") or ""
            self._check_name(name, {**arrays, **groups})
            groups[name] = self.group(item, f"{path}/{name}" if path else name, depth + 1)
            report += groups[name].report
        attributes = _attributes(node)
        for name in GLOBALS & attributes.keys():
            inside = attributes.pop(name)
            attributes.update(inside if isinstance(inside, dict) else {})
        return VirtualGroup(GroupMeta(attributes), arrays, groups, tuple(report))

    def _check_name(self, name: str, taken: Mapping[str, Any]) -> None:
        if not name or name in (".", "..") or "/" in name or name in taken:
            raise InvalidMetadata(self.where, f"{name!r} is not a name, or is there twice")

    def _dims(self, node: Element, path: str) -> tuple[Shape, tuple[str | None, ...]]:
        shape: list[int] = []
        names: list[str | None] = []
        for dim in node.findall(f"{DAP}Dim"):
            name = dim.get("name")
            if name is None:
                shape.append(self._integer(dim.get("size")))
                names.append(None)
                continue
            full = name if name.startswith("/") else f"/{path}/{name}".replace("//", "/")
            if full not in self.dimensions:
                raise InvalidMetadata(self.where, f"unknown dimension {name!r}")
            shape.append(self.dimensions[full])
            names.append(name.rpartition("/")[2])
        return tuple(shape), tuple(names)

    def _variable(self, node: Element, kind: str, path: str) -> VirtualArray:
        shape, names = self._dims(node, path)
        dtype = _dtype(node, kind)
        chunks = node.findall(f"{DMRPP}chunks")
        if len(chunks) > 1:
            raise Unsupported("layout", "more than one description of its chunks")
        about = chunks[0] if chunks else None
        sizes = None if about is None else about.findtext(f"{DMRPP}chunkDimensionSizes")
        chunk_shape = shape if sizes is None else tuple(self._integer(s) for s in sizes.split())
        if len(chunk_shape) != len(shape) or (0 in chunk_shape and 0 not in shape):
            raise InvalidMetadata(self.where, f"chunks {chunk_shape} for shape {shape}")
        grid = RegularGrid(tuple(max(c, 1) for c in chunk_shape))
        stored = dtype.newbyteorder(">" if about is not None and about.get("byteOrder") == "BE" else "<")
        order = (
            {} if dtype.itemsize == 1 or dtype.kind == "S" else {"endian": "big" if stored.str[0] == ">" else "little"}
        )
        codecs = (CodecSpec("bytes", order), *_filters(about, dtype))
        meta = ArrayMeta(
            shape,
            from_numpy(dtype),
            grid,
            (Encoding(codecs),),
            _fill(None if about is None else about.get("fillValue"), dtype),
            names if any(names) else None,
            _attributes(node),
        )
        return VirtualArray(meta, self._manifest(node, about, meta, grid, sizes is not None))

    def _manifest(
        self, node: Element, about: Element | None, meta: ArrayMeta, grid: RegularGrid, chunked: bool
    ) -> Manifest:
        counts = chunk_counts(meta.shape, grid)
        size = math.prod(meta.shape) * meta.data_type.numpy.itemsize
        compact = node.find(f"{DMRPP}compact")
        if compact is not None:
            data = _decoded(compact.text)
            if len(data) != size or len(meta.codecs) > 1:
                raise Unsupported("layout", f"{len(data)} bytes of compact data where {size} are expected")
            return inline_manifest(counts, {0: data} if size else {})
        if about is None or about.get("LBIndex") is not None:
            raise Unsupported("layout", "its values are not described as chunks of a file")
        found = about.findall(f"{DMRPP}chunk")
        if not chunked and (len(found) != 1 or (len(meta.codecs) == 1 and found[0].get("nBytes") != str(size))):
            if not size and not found:
                return inline_manifest(counts, {})
            raise Unsupported("layout", "its bytes are not one contiguous stretch")
        collector = Collector(counts, f"{self.where}: {node.get('name')}")
        table = SourceTable(make=self.options.named)
        table.number(self.data)
        rows = [row for c in found if (row := self._chunk(c, grid.chunk_shape, counts, table)) is not None]
        if rows:
            flat, source, offset, length = (np.array(column) for column in zip(*rows, strict=True))
            collector.add(
                flat.astype(np.int64), source.astype(np.int32), offset.astype(np.uint64), length.astype(np.uint64)
            )
        return collector.finish(table.infos)

    def _chunk(
        self, item: Element, shape: Shape, counts: Shape, table: SourceTable
    ) -> tuple[int, int, int, int] | None:
        if item.get("offset") is None and item.get("fillValue") is not None:
            return None  # never written
        offset, length = self._integer(item.get("offset")), self._integer(item.get("nBytes"))
        if offset + length > LARGEST:
            raise InvalidMetadata(self.where, "an impossible byte range")
        if any(int(item.get(key) or "0", 0) for key in ("filterMask", "filter_mask")):
            raise Unsupported("filter", "chunks that skip some of the filters")
        if any(item.get(key) is not None for key in ("LBIndex", "linkedBlockIndex", "SubBlockIndex")):
            raise Unsupported("layout", "chunks in several blocks")
        flat = 0
        where = item.get("chunkPositionInArray")
        if where is not None:
            if not _POSITION.fullmatch(where):
                raise InvalidMetadata(self.where, f"{where!r} is not a position")
            place = [int(p) for p in where.strip("[]").split(",")]
            if len(place) != len(shape) or any(p % s for p, s in zip(place, shape, strict=False)):
                raise InvalidMetadata(self.where, f"no chunk of {shape} begins at {where}")
            for p, s, n in zip(place, shape, counts, strict=True):
                if p // s >= n:
                    raise InvalidMetadata(self.where, f"{where} is outside of the array")
                flat = flat * n + p // s
        elif math.prod(counts) > 1:
            raise InvalidMetadata(self.where, "a chunk without a position")
        href = item.get("href") or item.get(f"{DMRPP}href")
        return flat, table.number(self._url(href) if href else self.data), offset, length


def _dtype(node: Element, kind: str) -> np.dtype[Any]:
    if kind in TYPES:
        return np.dtype(TYPES[kind])
    fixed = node.find(f"{DMRPP}FixedLengthStringArray")
    length = None if fixed is None else fixed.get("string_length")
    if kind == "String" and length is not None and length.isdigit() and 0 < int(length) < 1 << 20:
        return np.dtype(f"S{int(length)}")
    raise Unsupported("datatype", f"DAP4 type {kind}")


def _filters(about: Element | None, dtype: np.dtype[Any]) -> list[CodecSpec]:
    names = (about.get("compressionType") or "").split() if about is not None else []
    levels = (about.get("deflateLevel") or "").split() if about is not None else []
    found = []
    for name in names:
        match name:
            case "deflate":
                level = levels.pop(0) if levels else "6"
                if not level.isdigit() or int(level) > 9:
                    raise Unsupported("filter", f"deflate level {level!r}")
                found.append(CodecSpec("numcodecs.zlib", {"level": int(level)}))
            case "shuffle":
                found.append(CodecSpec("numcodecs.shuffle", {"elementsize": dtype.itemsize}))
            case "fletcher32":
                found.append(CodecSpec("numcodecs.fletcher32"))
            case _:
                raise Unsupported("filter", f"filter {name!r}")
    return found


def _fill(text: str | None, dtype: np.dtype[Any]) -> object:
    try:
        if dtype.kind == "S":
            return dtype.type(b"" if text is None else text.encode())
        if text is None or not text.strip():
            return dtype.type(0)
        return dtype.type(float(text)) if dtype.kind == "f" else dtype.type(int(text))
    except (ValueError, OverflowError) as error:
        raise Unsupported("datatype", f"fill value {text!r} of type {dtype}") from error


def _decoded(text: str | None) -> bytes:
    try:
        return base64.b64decode("".join((text or "").split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise Unsupported("layout", "compact data that do not decode") from error


def _attributes(node: Element, depth: int = 0) -> dict[str, JSON]:
    found: dict[str, JSON] = {}
    for item in node.findall(f"{DAP}Attribute"):
        name, kind = item.get("name"), item.get("type") or "String"
        if not name or name == "build_dmrpp_metadata" or depth > 8:
            continue
        if kind == "Container":
            found[name] = _attributes(item, depth + 1)
            continue
        values = [
            _value(v.text if v.get("value") is None else v.get("value"), kind) for v in item.findall(f"{DAP}Value")
        ]
        found[name] = values[0] if len(values) == 1 else values
    return found


def _value(text: str | None, kind: str) -> JSON:
    text = text or ""
    try:
        if kind.startswith("Float"):
            return float(text)
        if kind in TYPES:
            return int(text)
    except ValueError:
        return text
    return text
