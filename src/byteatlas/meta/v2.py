"""Zarr version 2 documents (``.zarray``, ``.zgroup``, ``.zattrs``) to and from the model.

Read more widely than the specification is written, because of what real writers do: NCZarr (netCDF-C) puts numbers in
strings, one fill value in a list, leaves ``fill_value`` out, writes scalars as arrays of shape ``[1]`` and keeps
dimension names in attributes of its own; ``filters`` may be empty or absent; unknown members are passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.meta import dtypes, fill
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, DataType, Encoding, GroupMeta, RegularGrid
from byteatlas.meta.parts import object_of, shape_of
from byteatlas.types import JSON, Shape

DIMENSIONS = "_ARRAY_DIMENSIONS"
NCZARR = ("_nczarr_", "_NCZARR_")
OBJECT_CODECS: Mapping[str, tuple[str, DataType | None]] = {
    "vlen-utf8": ("vlen-utf8", dtypes.STRING),
    "vlen-bytes": ("vlen-bytes", dtypes.BYTES),
    "vlen-array": ("numcodecs.vlen-array", None),
    "json2": ("numcodecs.json2", dtypes.OBJECT),
    "json": ("numcodecs.json", dtypes.OBJECT),
    "msgpack2": ("numcodecs.msgpack2", dtypes.OBJECT),
    "msgpack": ("numcodecs.msgpack", dtypes.OBJECT),
    "pickle": ("numcodecs.pickle", dtypes.OBJECT),
    "categorize": ("numcodecs.categorize", dtypes.STRING),
    "fill_hdf_strings": ("numcodecs.fill_hdf_strings", dtypes.OBJECT),
    "FITSVarBintable": ("numcodecs.FITSVarBintable", dtypes.OBJECT),
}
"""Codecs that turn objects into bytes: the model's name, and what the objects are."""


# ------------------------------------------------------------------------------------------------------ reading


def parse_array(zarray: JSON, zattrs: JSON, where: str = "") -> ArrayMeta:
    """The array that ``.zarray`` and ``.zattrs`` describe. Raises `InvalidMetadata`, `Unsupported`."""
    document = object_of(zarray, where, ".zarray")
    attributes = object_of(zattrs or {}, where, ".zattrs")
    if document.get("zarr_format", 2) != 2:
        raise InvalidMetadata(where, f"zarr_format {document.get('zarr_format')!r} in a version 2 document")
    shape = shape_of(_need(document, "shape", where), where)
    chunks = _chunk_shape(_need(document, "chunks", where), shape, where)
    names, kept, scalar = _attributes(document, attributes, shape)
    if scalar:
        shape, chunks, names = (), (), ()
    order = document.get("order", "C")
    if order not in ("C", "F"):
        raise InvalidMetadata(where, f"order {order!r}")
    data_type, stored, codecs = _chain(document, where)
    if order == "F" and len(shape) > 1:
        codecs = (CodecSpec("transpose", {"order": list(range(len(shape)))[::-1]}), *codecs)
    separator = document.get("dimension_separator", ".")
    if separator not in (".", "/"):
        raise InvalidMetadata(where, f"dimension_separator {separator!r}")
    return ArrayMeta(
        shape=shape,
        data_type=data_type,
        grid=RegularGrid(chunks),
        encodings=(Encoding(codecs),),
        fill_value=fill.from_v2(document.get("fill_value"), data_type, stored, where),
        dimension_names=names,
        attributes=kept,
        keys=ChunkKeys("v2", separator),
        zarr_format=2,
    )


def parse_group(zgroup: JSON, zattrs: JSON, where: str = "") -> GroupMeta:
    """The group that ``.zgroup`` and ``.zattrs`` describe."""
    document = object_of(zgroup, where, ".zgroup")
    if document.get("zarr_format", 2) != 2:
        raise InvalidMetadata(where, f"zarr_format {document.get('zarr_format')!r} in a version 2 document")
    attributes = object_of(zattrs or {}, where, ".zattrs")
    return GroupMeta({k: v for k, v in attributes.items() if not k.startswith(NCZARR)}, 2)


def _need(document: Mapping[str, JSON], key: str, where: str) -> JSON:
    if key not in document:
        raise InvalidMetadata(where, f"{key!r} is missing")
    return document[key]


def _chunk_shape(value: JSON, shape: Shape, where: str) -> Shape:
    if value is None or value is False:
        return tuple(max(1, n) for n in shape)
    chunks = shape_of(value, where, "chunks")
    if len(chunks) != len(shape):
        raise InvalidMetadata(where, f"chunks {list(chunks)} of an array of {len(shape)} dimensions")
    for c, n in zip(chunks, shape, strict=True):
        if c == 0 and n:
            raise InvalidMetadata(where, "a chunk of length 0")
    return tuple(max(1, c) for c in chunks)


def _attributes(
    zarray: Mapping[str, JSON], attributes: Mapping[str, JSON], shape: Shape
) -> tuple[tuple[str | None, ...] | None, dict[str, JSON], bool]:
    """Dimension names, the attributes that are the user's, and whether this is NCZarr's form of a scalar."""
    kept = {k: v for k, v in attributes.items() if not k.startswith(NCZARR)}
    homes = [source.get(key) for source in (attributes, zarray) for key in ("_nczarr_array", "_NCZARR_ARRAY")]
    inner = next((found for found in homes if found), None)
    nczarr: Mapping[str, JSON] = inner if isinstance(inner, dict) else {}
    names: tuple[str | None, ...] | None = None
    given = kept.get(DIMENSIONS)
    scalar = shape == (1,) and nczarr.get("scalar") in (1, True, "1")
    references = nczarr.get("dimension_references", nczarr.get("dimrefs"))
    if isinstance(given, list) and (scalar or len(given) == len(shape)) and all(isinstance(n, str) for n in given):
        names = tuple(given)
        del kept[DIMENSIONS]
    elif isinstance(references, list) and len(references) == len(shape):
        names = tuple(str(r).rpartition("/")[2] for r in references)
    return names, kept, scalar


def _chain(document: Mapping[str, JSON], where: str) -> tuple[DataType, np.dtype[Any], tuple[CodecSpec, ...]]:
    """Data type, stored dtype and codecs (without the transpose of order F)."""
    given = document.get("filters")
    if given is not None and not isinstance(given, list):
        raise InvalidMetadata(where, f"filters {given!r}")
    filters = [_codec(f, where) for f in given or ()]
    compressor = document.get("compressor")
    tail = [] if compressor is None else [_codec(compressor, where)]
    dtype = _need(document, "dtype", where)
    is_object = isinstance(dtype, str) and dtype.lstrip("|<>=") in ("O", "O8", "object")
    first = filters[0] if filters else (tail[0] if is_object and tail else None)
    found = OBJECT_CODECS.get(first.name.removeprefix("numcodecs.")) if first is not None else None
    if first is not None and found is not None and (is_object or first.name == "numcodecs.categorize"):
        rest = [*filters[1:], *tail] if filters else tail[1:]
        data_type = _object_type(found[1], first, where) if is_object else dtypes.from_v2(dtype, where)
        return data_type, data_type.numpy, (CodecSpec(found[0], first.configuration), *rest)
    if first is not None and found is not None and isinstance(dtype, list) and found[1] is dtypes.OBJECT:
        kind = DataType(dtypes.OBJECT.name, _with_objects(dtype, where))
        return kind, kind.numpy, (CodecSpec(found[0], first.configuration), *filters[1:], *tail)
    if is_object:
        raise Unsupported("object-codec", f"{where}: dtype |O without a known object codec as first filter")
    stored = dtypes.numpy_v2(dtype, where)
    data_type = dtypes.from_numpy(stored)
    chain = (bytes_codec(stored), *filters, *tail)
    return data_type, stored, chain


def _with_objects(fields: list[JSON], where: str) -> np.dtype[Any]:
    """Fields of which some are ``|O`` (kerchunk's tables with strings of any length)."""
    out: list[tuple[str, Any]] = []
    for entry in fields:
        if not isinstance(entry, list) or len(entry) not in (2, 3) or not isinstance(entry[0], str):
            raise InvalidMetadata(where, f"field {entry!r}")
        objects = entry[1] in ("|O", "O")
        out.append((entry[0], np.dtype(object)) if objects else (entry[0], dtypes.numpy_v2([entry], where)[0]))
    if len({name for name, _ in out}) != len(out):
        raise InvalidMetadata(where, "fields of a structured dtype need names, each its own")
    return np.dtype(out).newbyteorder("=")


def _object_type(known: DataType | None, codec: CodecSpec, where: str) -> DataType:
    if known is not None:
        return known
    base = dtypes.from_numpy(dtypes.numpy_v2(codec.configuration.get("dtype"), where))
    return DataType(dtypes.VLEN_ARRAY, np.dtype(object), {"data_type": dtypes.to_v3(base)})


NUMBERS_IN_STRINGS = frozenset(
    ("level", "elementsize", "clevel", "blocksize", "shuffle", "keepbits", "acceleration", "checksum")
)


def _codec(value: JSON, where: str) -> CodecSpec:
    """A version 2 codec as the model names it."""
    document = object_of(value, where, "codec")
    name = document.get("id")
    if not isinstance(name, str) or not name:
        raise InvalidMetadata(where, f"codec {value!r} has no id")
    configuration = {k: _number(k, v) for k, v in document.items() if k != "id"}
    return CodecSpec(name if name.startswith("byteatlas.") else f"numcodecs.{name}", configuration)


def _number(key: str, value: JSON) -> JSON:
    """NCZarr before 4.10 wrote parameters as strings."""
    if key in NUMBERS_IN_STRINGS and isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value


def bytes_codec(stored: np.dtype[Any]) -> CodecSpec:
    """The array -> bytes codec of elements stored as this dtype (packed)."""
    orders = sorted(set(byte_orders(stored)))
    if len(orders) > 1 or _subarray_inside(stored):
        return CodecSpec("byteatlas.bytes", {"dtype": dtypes.descr(stored)})
    if not orders:
        return CodecSpec("bytes")
    return CodecSpec("bytes", {"endian": "little" if orders[0] == "<" else "big"})


def byte_orders(stored: np.dtype[Any]) -> list[str]:
    """The byte orders that occur in a dtype, ``<`` or ``>`` for each number of more than one byte."""
    if stored.subdtype:
        return byte_orders(stored.subdtype[0])
    if stored.names:
        return [o for name in stored.names for o in byte_orders(stored[name])]
    if stored.itemsize == 1:
        return []
    if stored.name in dtypes.NARROW:
        return ["<"]
    return [] if stored.kind in "SV" else [stored.str[0]]


def _subarray_inside(stored: np.dtype[Any]) -> bool:
    return stored.names is not None and any(
        stored[name].subdtype is not None or _subarray_inside(stored[name]) for name in stored.names
    )


# ------------------------------------------------------------------------------------------------------ writing


def dump_array(meta: ArrayMeta) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """``.zarray`` and ``.zattrs``. Raises `Unsupported` (reason ``zarr-v2``) for what version 2 cannot express."""
    if not isinstance(meta.grid, RegularGrid):
        raise _cannot("chunks of different lengths along an axis")
    if len(meta.encodings) != 1:
        raise _cannot("chunks that are stored in different ways")
    encoding = meta.encodings[0]
    if encoding.data_type not in (None, meta.data_type) or encoding.cast:
        raise _cannot("chunks of another data type than the array's")
    if encoding.chunk_shape not in (None, meta.grid.chunk_shape):
        raise _cannot("chunks stored in another shape than the grid's")
    if meta.keys.kind != "v2" or meta.keys.suffix:
        raise _cannot("chunk keys of version 3")
    order, codecs = _order_of(encoding.codecs, meta.ndim)
    dtype, stored, filters, compressor = _v2_chain(codecs, meta.data_type)
    zarray: dict[str, JSON] = {
        "zarr_format": 2,
        "shape": list(meta.shape),
        "chunks": list(meta.grid.chunk_shape),
        "dtype": dtype,
        "fill_value": fill.to_v2(meta.fill_value, meta.data_type, stored),
        "order": order,
        "filters": filters,
        "compressor": compressor,
    }
    if meta.keys.separator != ".":
        zarray["dimension_separator"] = meta.keys.separator
    return zarray, _zattrs(meta)


def dump_group(meta: GroupMeta) -> tuple[dict[str, JSON], dict[str, JSON]]:
    """``.zgroup`` and ``.zattrs``."""
    return {"zarr_format": 2}, dict(meta.attributes)


def _cannot(what: str) -> Unsupported:
    return Unsupported("zarr-v2", f"Zarr v2 cannot express {what}")


def _zattrs(meta: ArrayMeta) -> dict[str, JSON]:
    attributes = dict(meta.attributes)
    if meta.dimension_names is not None:
        if any(n is None for n in meta.dimension_names):
            raise _cannot("dimensions of which only some have names")
        attributes[DIMENSIONS] = list(meta.dimension_names)
    return attributes


def _order_of(codecs: tuple[CodecSpec, ...], ndim: int) -> tuple[Literal["C", "F"], tuple[CodecSpec, ...]]:
    if not codecs or codecs[0].name != "transpose":
        return "C", codecs
    order = codecs[0].configuration.get("order")
    if order in ("C", list(range(ndim))):
        return "C", codecs[1:]
    if order in ("F", list(range(ndim))[::-1]):
        return "F", codecs[1:]
    raise _cannot(f"transpose {order!r}")


def _v2_chain(
    codecs: tuple[CodecSpec, ...], data_type: DataType
) -> tuple[JSON, np.dtype[Any], list[JSON] | None, JSON]:
    """dtype, stored dtype, filters and compressor. The last codec that compresses becomes the compressor."""
    if not codecs:
        raise InvalidMetadata("", "no array -> bytes codec")
    head, tail = codecs[0], [_v2_codec(c, data_type) for c in codecs[1:]]
    objects = {name: key for key, (name, _) in OBJECT_CODECS.items()}
    if head.name in objects:
        stored = data_type.numpy
        dtype: JSON = "|O" if stored.hasobject else dtypes.to_v2(data_type)
        tail.insert(0, {"id": objects[head.name], **head.configuration})
    elif head.name == "bytes":
        if data_type.numpy.hasobject:
            raise InvalidMetadata("", f"codec bytes for data type {data_type.name}")
        order = ">" if head.configuration.get("endian") == "big" else "<"
        dtype = dtypes.to_v2(data_type, order)
        stored = data_type.numpy.newbyteorder(order)  # type: ignore[arg-type]
    elif head.name == "byteatlas.bytes" and not {"offsets", "itemsize"} & set(head.configuration):
        dtype = head.configuration["dtype"]
        stored = dtypes.numpy_v2(dtype)
        if dtypes.from_numpy(stored).numpy != data_type.numpy:
            raise _cannot("fields stored in other widths than they have in memory")
    else:
        raise _cannot(f"the array -> bytes codec {head.name}")
    compressor = None
    # A compressor is what other readers expect last; with several filters it does not matter which place it takes.
    if tail and tail[-1]["id"] in COMPRESSORS:
        compressor = tail.pop()
    return dtype, stored, tail or None, compressor


COMPRESSORS = frozenset(("zlib", "gzip", "bz2", "lzma", "zstd", "blosc", "lz4", "zfpy", "pcodec"))
V3_NAMES = ("gzip", "zstd", "blosc", "crc32c")


def _v2_codec(spec: CodecSpec, data_type: DataType) -> dict[str, JSON]:
    """A bytes -> bytes codec with its numcodecs id."""
    configuration = dict(spec.configuration)
    if spec.name.startswith("numcodecs."):
        return {"id": spec.name.removeprefix("numcodecs."), **configuration}
    if spec.name in V3_NAMES:
        if spec.name == "blosc":
            if configuration.pop("typesize", data_type.numpy.itemsize) != data_type.numpy.itemsize:
                raise _cannot("a blosc typesize that is not the item size")
            shuffles = {"noshuffle": 0, "shuffle": 1, "bitshuffle": 2}
            configuration["shuffle"] = shuffles[configuration.get("shuffle", "shuffle")]
        return {"id": spec.name, **configuration}
    if spec.name.startswith("byteatlas."):
        return {"id": spec.name, **configuration}
    raise _cannot(f"the codec {spec.name}")
