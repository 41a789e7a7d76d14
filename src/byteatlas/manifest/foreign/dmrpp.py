"""DMR++ documents, written: what OPeNDAP's XML can say of where the chunks of HDF5 files lie.

The data model is DAP4's (volume 1: data model): groups with shared dimensions, atomic types, attributes of several
values. The places of chunks are Hyrax' extension ("DMR++", dmrpp/1.0.0). What it has no words for is refused.
"""

from __future__ import annotations

import math
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.io.output import Sink
from byteatlas.manifest.model import INLINE, WHOLE, ChunkManifest, VirtualArray, VirtualGroup, VirtualNode
from byteatlas.manifest.options import MapWriteOptions, TellArray
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, CodecSpec, RegularGrid
from byteatlas.types import JSON, Shape

TYPES: Mapping[str, str] = {
    **{"i1": "Int8", "u1": "UInt8", "i2": "Int16", "u2": "UInt16", "i4": "Int32", "u4": "UInt32"},
    **{"i8": "Int64", "u8": "UInt64", "f4": "Float32", "f8": "Float64"},
}
"""NumPy's types as DAP4's."""
HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" '
    'xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" dapVersion="4.0" dmrVersion="1.0" '
)
ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that no XML document may hold (XML 1.0, 2.2)."""
MOST_CONTAINERS = 8
RESERVED = "build_dmrpp_metadata"
"""An attribute that readers pass over."""


def write_dmrpp(node: VirtualNode, stream: Sink, options: MapWriteOptions, tell: TellArray | None = None) -> None:
    """Write a tree as a DMR++ document.

    Raises `Unsupported` (reason ``dmrpp``) for what it cannot express; the message names the array and says why.
    """
    if not isinstance(node, VirtualGroup):
        raise _refused("", "a document describes a group, not a single array")
    stream.write(Writer(node, options, tell).text().encode())


def _refused(path: str, why: str) -> Unsupported:
    return Unsupported("dmrpp", f"{path or 'the root'}: {why}; DMR++ has no words for it (write .json or .parquet)")


class Writer:
    """One document."""

    def __init__(self, root: VirtualGroup, options: MapWriteOptions, tell: TellArray | None) -> None:
        self._root, self._options, self._tell, self._done = root, options, tell, 0
        arrays = [n for _, n in root.walk() if isinstance(n, VirtualArray)]
        self._total = len(arrays)
        self._main = self._data_file(arrays)

    def _data_file(self, arrays: list[VirtualArray]) -> str:
        """The file that most arrays have their bytes in."""
        urls = [info.url for array in arrays for info in array.manifest.sources]
        return self._options.shown(max(dict.fromkeys(urls), key=urls.count)) if urls else ""

    def text(self) -> str:
        name = self._main.rpartition("/")[2] or "values"
        href = f" dmrpp:href={quoteattr(_full(self._main))}" if self._main else ""
        return f"{HEAD}name={_quoted(name, '')}{href}>\n{self._group(self._root, '')}</Dataset>\n"

    def _group(self, group: VirtualGroup, path: str) -> str:
        sizes = _dimensions(group, path)
        parts = [f'<Dimension name={_quoted(n, path)} size="{size}"/>\n' for n, size in sizes.items()]
        for name, array in group.arrays.items():
            below = f"{path}/{name}" if path else name
            if self._tell is not None:
                self._tell(below, self._done, self._total)
            self._done += 1
            parts.append(self._variable(name, array, path, below))
        parts.append(attributes(group.attributes, path))
        for name, child in group.groups.items():
            below = f"{path}/{name}" if path else name
            parts.append(f"<Group name={_quoted(name, path)}>\n{self._group(child, below)}</Group>\n")
        return "".join(parts)

    def _variable(self, name: str, array: VirtualArray, group: str, path: str) -> str:
        meta = array.meta
        kind, extra = _type(meta, path)
        names = meta.dimension_names or (None,) * len(meta.shape)
        above = f"/{group}/" if group else "/"
        marks = "".join(
            [
                f'<Dim size="{size}"/>' if dim is None else f"<Dim name={_quoted(above + dim, path)}/>"
                for size, dim in zip(meta.shape, names, strict=True)
            ]
        )
        inside = f"{marks}{extra}\n{attributes(meta.attributes, path)}{self._chunks(array, path)}"
        return f"<{kind} name={_quoted(name, path)}>{inside}</{kind}>\n"

    def _chunks(self, array: VirtualArray, path: str) -> str:
        """Where an array's bytes lie, or the bytes."""
        meta, columns = array.meta, array.manifest.load()
        about = _about(meta, path)
        grid = meta.grid
        if not isinstance(grid, RegularGrid):
            raise _refused(path, "chunks of different sizes")
        counts = chunk_counts(meta.shape, grid)
        filtered = len(meta.codecs) > 1
        if columns.inlined or not math.prod(counts):
            return f"<dmrpp:chunks{about}/>{_compact(meta, columns, counts, path)}"
        size = math.prod(meta.shape) * meta.data_type.numpy.itemsize
        if counts == (1,) * len(counts) and not filtered and bool((columns.source >= 0).all()):
            if int(columns.length[0]) != size:
                raise _refused(path, f"{size} bytes of values in a chunk of {int(columns.length[0])}")
            (row,) = self._rows(columns, None, path)
            return f"<dmrpp:chunks{about}>{row}</dmrpp:chunks>\n"
        if not meta.shape:
            raise _refused(path, "a single value that is compressed, or was never written")
        sizes = " ".join(map(str, grid.chunk_shape))
        rows = "".join(self._rows(columns, grid.chunk_shape, path))
        body = f"<dmrpp:chunkDimensionSizes>{sizes}</dmrpp:chunkDimensionSizes>\n{rows}"
        return f"<dmrpp:chunks{about}>{body}</dmrpp:chunks>\n"

    def _rows(self, columns: ChunkManifest, shape: Shape | None, path: str) -> Iterator[str]:
        there = np.flatnonzero(columns.source >= 0)
        if bool((columns.length[there] == WHOLE).any()):
            raise _refused(path, "a chunk that is a whole file")
        hrefs = [self._href(info.url) for info in columns.sources]
        places = np.array(np.unravel_index(there, columns.grid_shape)).T if shape else np.zeros((len(there), 0), int)
        table = (places * np.array(shape or (), int)).tolist()
        numbers = [column[there].tolist() for column in (columns.source, columns.offset, columns.length)]
        for source, offset, length, place in zip(*numbers, table, strict=True):
            where = f' chunkPositionInArray="[{",".join(map(str, place))}]"' if shape else ""
            yield f'<dmrpp:chunk offset="{offset}" nBytes="{length}"{where}{hrefs[source]}/>\n'

    def _href(self, url: str) -> str:
        shown = self._options.shown(url)
        return "" if shown == self._main else f" dmrpp:href={quoteattr(_full(shown))}"


def _full(url: str) -> str:
    """A URL that says its protocol: without one, readers look beside the document."""
    return f"file://{url}" if url.startswith("/") else url


def _dimensions(group: VirtualGroup, path: str) -> dict[str, int]:
    """The group's shared dimensions. Raises `Unsupported` where two arrays give one of them different lengths."""
    sizes: dict[str, int] = {}
    for name, array in group.arrays.items():
        for dim, size in zip(array.meta.dimension_names or (), array.meta.shape, strict=False):
            if dim is not None and sizes.setdefault(dim, size) != size:
                why = f"dimension {dim!r} is {size} here and {sizes[dim]} elsewhere in its group"
                raise _refused(f"{path}/{name}".lstrip("/"), why)
            if dim is not None and ("/" in dim or not dim):
                raise _refused(path, f"a dimension with the name {dim!r}")
    return sizes


def _type(meta: ArrayMeta, path: str) -> tuple[str, str]:
    """The element of a variable, and what says how long its strings are."""
    dtype = meta.data_type.numpy
    if dtype.kind == "S" and dtype.itemsize:
        return "String", f'<dmrpp:FixedLengthStringArray string_length="{dtype.itemsize}" pad="null"/>'
    kind = TYPES.get(dtype.str[1:])
    if kind is None or meta.data_type.numpy.kind not in "iuf":
        raise _refused(path, f"values of type {dtype}")
    return kind, ""


def _about(meta: ArrayMeta, path: str) -> str:
    """Filters, byte order and fill value, as attributes of ``dmrpp:chunks``."""
    encoding = meta.encodings[0]
    if len(meta.encodings) > 1 or encoding.chunk_shape or encoding.data_type or encoding.cast:
        raise _refused(path, "chunks that are stored in several ways")
    first, *filters = encoding.codecs
    if first.name != "bytes":
        raise _refused(path, f"codec {first.name}")
    names, levels = [], []
    for codec in filters:
        names.append(_filter(codec, meta, path))
        if names[-1] == "deflate":
            levels.append(str(codec.configuration.get("level", 1)))
    found = f' compressionType="{" ".join(names)}"' if names else ""
    found += f' deflateLevel="{" ".join(levels)}"' if levels else ""
    big = first.configuration.get("endian") == "big"
    found += f' byteOrder="{"BE" if big else "LE"}"' if meta.data_type.numpy.itemsize > 1 else ""
    fill = meta.fill_value
    if fill is not None:
        value: Any = fill.decode("latin-1") if isinstance(fill, bytes) else np.asarray(fill).item()
        if isinstance(fill, bytes) and not fill.isascii():
            raise _refused(path, "a fill value that is no ASCII text")
        found += f" fillValue={_quoted(str(value) if isinstance(value, str) else repr(value), path)}"
    return found


def _filter(codec: CodecSpec, meta: ArrayMeta, path: str) -> str:
    match codec.name:
        case "numcodecs.zlib":
            return "deflate"
        case "numcodecs.fletcher32":
            return "fletcher32"
        case "numcodecs.shuffle" if codec.configuration.get("elementsize", 4) == meta.data_type.numpy.itemsize:
            return "shuffle"
        case name:
            raise _refused(path, f"codec {name}")


def _compact(meta: ArrayMeta, columns: ChunkManifest, counts: Shape, path: str) -> str:
    """Values that are in the map: all of them, in one piece."""
    if len(meta.codecs) > 1:
        raise _refused(path, "compressed values in the map")
    if not math.prod(counts):
        return "<dmrpp:compact></dmrpp:compact>\n"
    size = math.prod(meta.shape) * meta.data_type.numpy.itemsize
    data = columns.inlined.get(0, b"")
    if math.prod(counts) != 1 or int(columns.source[0]) != INLINE or len(data) != size:
        raise _refused(path, "values in the map, in several chunks")
    return f"<dmrpp:compact>{b64encode(data).decode()}</dmrpp:compact>\n"


def attributes(found: Mapping[str, JSON], path: str, depth: int = 0) -> str:
    """Attributes as elements. Raises `Unsupported`."""
    if depth > MOST_CONTAINERS:
        raise _refused(path, f"attributes in more than {MOST_CONTAINERS} containers")
    return "".join([_attribute(name, value, path, depth) for name, value in found.items()])


def _attribute(name: str, value: JSON, path: str, depth: int) -> str:
    where = f"{path or '/'}, attribute {name!r}"
    if name == RESERVED or not name:
        raise _refused(where, "a name that readers pass over")
    if isinstance(value, Mapping):
        inside = attributes(value, path, depth + 1)
        return f'<Attribute name={_quoted(name, where)} type="Container">{inside}</Attribute>\n'
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    kind = _kind(values, where)
    texts = "".join([f"<Value>{_text(v, where)}</Value>" for v in values])
    return f'<Attribute name={_quoted(name, where)} type="{kind}">{texts}</Attribute>\n'


def _kind(values: list[JSON], where: str) -> str:
    if all(isinstance(v, str) for v in values):
        return "String"
    if any(isinstance(v, bool) or not isinstance(v, (int, float)) for v in values):
        raise _refused(where, "a value that is neither text nor a number, or a list of different kinds")
    if any(isinstance(v, float) for v in values):
        if any(isinstance(v, int) and abs(v) > 1 << 53 for v in values):
            raise _refused(where, "numbers that no one type holds")
        return "Float64"
    least, most = min(values), max(values)
    if least < -(1 << 63) or most >= 1 << 64 or (least < 0 and most >= 1 << 63):
        raise _refused(where, "an integer of more than 64 bits")
    return "UInt64" if most >= 1 << 63 else "Int32" if least >= -(1 << 31) and most < 1 << 31 else "Int64"


def _text(value: JSON, where: str) -> str:
    text = value if isinstance(value, str) else repr(value)
    return escape(_legal(text, where), {"\r": "&#13;"})


def _quoted(text: str, where: str) -> str:
    return quoteattr(_legal(text, where))


def _legal(text: str, where: str) -> str:
    if ILLEGAL.search(text):
        raise _refused(where, "characters that XML cannot hold")
    return text
