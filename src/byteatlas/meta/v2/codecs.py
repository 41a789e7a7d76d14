"""Version 2's dtype, ``filters`` and ``compressor`` as one chain of codecs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes
from byteatlas.meta.model import CodecSpec, DataType
from byteatlas.meta.parts import object_of
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON

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


LISTED = frozenset(("numcodecs.json2", "numcodecs.msgpack2"))
"""Codecs that write any elements as a list of values, objects or not."""
ANYWHERE = LISTED | {"numcodecs.categorize"}
"""Array -> bytes codecs of elements that are no objects, which may stand as the compressor too."""
NCZARR = ("_nczarr_array", "_NCZARR_ARRAY")
"""What netCDF-C adds to an array: in its attributes, or in the document itself."""


def nczarr_of(document: Mapping[str, JSON], attributes: Mapping[str, JSON]) -> Mapping[str, JSON] | None:
    """What netCDF-C notes of an array (NCZarr); None where there is no such note."""
    found = next((source[key] for source in (attributes, document) for key in NCZARR if source.get(key)), None)
    return found if isinstance(found, dict) else None


def chain_of(
    document: Mapping[str, JSON], attributes: Mapping[str, JSON]
) -> tuple[DataType, np.dtype[Any], tuple[CodecSpec, ...]]:
    """Data type, stored dtype and codecs (without the transpose of order F)."""
    data_type, stored, codecs = _chain(document)
    if any(c.name in ("numcodecs.shuffle", "numcodecs.szip") for c in codecs):
        netcdf = _by_netcdf(document, attributes)
        codecs = tuple(_completed(c, document, stored, netcdf) for c in codecs)
    return data_type, stored, codecs


def _completed(codec: CodecSpec, document: Mapping[str, JSON], stored: np.dtype[Any], netcdf: bool) -> CodecSpec:
    """A codec whose parameters netCDF-C takes from the array, with these said."""
    known = codec.configuration
    if codec.name == "numcodecs.shuffle" and netcdf and known.get("elementsize") == 0:
        return CodecSpec(codec.name, {"elementsize": stored.itemsize})
    shape = document["shape"]
    if codec.name == "numcodecs.szip" and isinstance(shape, list) and shape:
        # The length of the last dimension, and not that of the chunk as in HDF5 (NCZszip.c, modify_parameters).
        order = ">" if stored.str[0] == ">" else "<"
        line = {"last-dimension": shape[-1], "itemsize": stored.itemsize, "byteorder": order}
        return CodecSpec(codec.name, {**line, **known})
    return codec


def _by_netcdf(document: Mapping[str, JSON], attributes: Mapping[str, JSON]) -> bool:
    """Whether netCDF-C wrote an array: only there does a shuffle of size 0 mean elements of the array's size.

    Its pure Zarr mode leaves no note. But its documents begin with the version, and its filters with their id
    (zsync.c, ``ncz_sync_var_meta``); those of zarr-python never do both. What stands between differs by release and by
    the tools that have rewritten the document.
    """
    if nczarr_of(document, attributes) is not None:
        return True
    filters = document.get("filters")
    first = next((f for f in filters if isinstance(f, dict)), {}) if isinstance(filters, list) else {}
    return next(iter(document), None) == "zarr_format" and next(iter(first), None) == "id"


def _chain(document: Mapping[str, JSON]) -> tuple[DataType, np.dtype[Any], tuple[CodecSpec, ...]]:
    filters, tail = _filters(document.get("filters")), _compressor(document.get("compressor"))
    dtype = document["dtype"]
    is_object = dtypes.is_object(dtype)
    first = filters[0] if filters else (tail[0] if tail and (is_object or tail[0].name in ANYWHERE) else None)
    found = OBJECT_CODECS.get(first.name.removeprefix("numcodecs.")) if first is not None else None
    if first is not None and found is not None and (is_object or first.name == "numcodecs.categorize"):
        rest = [*filters[1:], *tail] if filters else tail[1:]
        with InMember("dtype"):
            data_type = _object_type(found[1], first) if is_object else dtypes.from_v2(dtype)
        return data_type, data_type.numpy, (CodecSpec(found[0], first.configuration), *rest)
    if first is not None and first.name in LISTED and isinstance(dtype, str):  # it holds the elements as a list
        with InMember("dtype"):
            stored = dtypes.numpy_v2(dtype)
        rest = [*filters[1:], *tail] if filters else tail[1:]
        return dtypes.from_numpy(stored), stored, (first, *rest)
    if first is not None and found is not None and isinstance(dtype, list) and found[1] is dtypes.OBJECT:
        with InMember("dtype"):
            kind = DataType(dtypes.OBJECT.name, _with_objects(dtype))
        return kind, kind.numpy, (CodecSpec(found[0], first.configuration), *filters[1:], *tail)
    if is_object:
        raise Unsupported("object-codec", "dtype |O without a known object codec as first filter")
    with InMember("dtype"):
        stored = dtypes.numpy_v2(dtype)
        data_type = dtypes.from_numpy(stored)
    chain = (bytes_codec(stored), *filters, *tail)
    return data_type, stored, chain


def _filters(given: JSON) -> list[CodecSpec]:
    with InMember("filters"):
        if given is not None and not isinstance(given, list):
            raise invalid(f"{given!r} is not a list")
        return [_codec(f) for f in given or ()]


def _compressor(given: JSON) -> list[CodecSpec]:
    with InMember("compressor"):
        return [] if given is None else [_codec(given)]


def _with_objects(fields: list[JSON]) -> np.dtype[Any]:
    """Fields of which some are ``|O`` (kerchunk's tables with strings of any length)."""
    out: list[tuple[str, Any]] = []
    for entry in fields:
        if not isinstance(entry, list) or len(entry) not in (2, 3) or not isinstance(entry[0], str):
            raise invalid(f"field {entry!r}")
        objects = entry[1] in ("|O", "O")
        if objects and (len(entry) != 2 or not entry[0]):
            raise invalid(f"field {entry!r}")
        out.append((entry[0], np.dtype(object)) if objects else (entry[0], dtypes.numpy_v2([entry])[0]))
    if len({name for name, _ in out}) != len(out):
        raise invalid("fields of a structured dtype need names, each its own")
    return dtypes.of_fields(out).newbyteorder("=")


def _object_type(known: DataType | None, codec: CodecSpec) -> DataType:
    if known is not None:
        return known
    base = dtypes.from_numpy(dtypes.numpy_v2(codec.configuration.get("dtype")))
    return DataType(dtypes.VLEN_ARRAY, np.dtype(object), {"data_type": dtypes.to_v3(base)})


NUMBERS_IN_STRINGS = frozenset(
    ("level", "elementsize", "clevel", "blocksize", "shuffle", "keepbits", "acceleration", "checksum")
)


def _codec(value: JSON) -> CodecSpec:
    """A version 2 codec as the model names it."""
    document = object_of(value, "codec")
    name = document.get("id")
    if not isinstance(name, str) or not name:
        raise invalid(f"codec {value!r} has no id")
    configuration = {k: _number(k, v) for k, v in document.items() if k != "id"}
    if name == "shuffle":  # numcodecs' default; its codecs of version 3 have another one
        configuration.setdefault("elementsize", 4)
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
    orders = sorted(set(dtypes.byte_orders(stored)))
    if len(orders) > 1 or _subarray_inside(stored):
        return CodecSpec("byteatlas.bytes", {"dtype": dtypes.descr(stored)})
    if not orders:
        return CodecSpec("bytes")
    return CodecSpec("bytes", {"endian": "little" if orders[0] == "<" else "big"})


def _subarray_inside(stored: np.dtype[Any]) -> bool:
    return stored.names is not None and any(
        stored[name].subdtype is not None or _subarray_inside(stored[name]) for name in stored.names
    )
