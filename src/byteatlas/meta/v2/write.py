"""Writing of version 2 documents."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes, fill
from byteatlas.meta.attributes import to_document
from byteatlas.meta.model import ArrayMeta, CodecSpec, DataType, GroupMeta, RegularGrid
from byteatlas.meta.parts import DIMENSIONS
from byteatlas.meta.place import invalid
from byteatlas.meta.v2.codecs import LISTED, OBJECT_CODECS
from byteatlas.types import JSON, ByteOrder


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
    return {"zarr_format": 2}, to_document(meta.attributes)


def _cannot(what: str) -> Unsupported:
    return Unsupported("zarr-v2", f"Zarr v2 cannot express {what}")


def _zattrs(meta: ArrayMeta) -> dict[str, JSON]:
    attributes = to_document(meta.attributes)
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
        raise invalid("no array -> bytes codec")
    head, tail = codecs[0], [_v2_codec(c, data_type) for c in codecs[1:]]
    objects = {name: key for key, (name, _) in OBJECT_CODECS.items()}
    if head.name in LISTED and not data_type.numpy.hasobject:
        stored = data_type.numpy.newbyteorder("<")
        dtype: JSON = dtypes.to_v2(data_type)
        tail.insert(0, _v2_codec(head, data_type))
    elif head.name in objects:
        stored = data_type.numpy
        dtype = "|O" if stored.hasobject else dtypes.to_v2(data_type)
        tail.insert(0, {"id": objects[head.name], **head.configuration})
    elif head.name == "bytes":
        if data_type.numpy.hasobject:
            raise invalid(f"codec bytes for data type {data_type.name}")
        order: ByteOrder = ">" if head.configuration.get("endian") == "big" else "<"
        dtype = dtypes.to_v2(data_type, order)
        stored = data_type.numpy.newbyteorder(order)
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
