"""Metadata of new arrays: chunk shapes and codec chains from what a caller says; defaults that all readers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any, Literal

import numpy as np

from byteatlas.arguments import VERBS, accept, shown, wrong
from byteatlas.errors import BadRequest
from byteatlas.meta import dtypes
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, DataType, Encoding, RegularGrid
from byteatlas.types import JSON, Shape

TARGET_CHUNK = 4 << 20
"""Bytes of a chunk whose shape nobody chose."""
ZSTD = CodecSpec("zstd", {"level": 3, "checksum": False})


def default_compression(data_type: DataType, zarr_format: int) -> tuple[CodecSpec, ...]:
    """Byte shuffle and Zstandard for numbers, Zstandard for the rest."""
    size = data_type.numpy.itemsize
    zstd = ZSTD if zarr_format == 3 else CodecSpec("numcodecs.zstd", {"level": 3})
    if data_type.numpy.kind not in "iufcmM" or size == 1:
        return (zstd,)
    if zarr_format == 3:
        blosc = {"cname": "zstd", "clevel": 5, "shuffle": "shuffle", "typesize": size, "blocksize": 0}
        return (CodecSpec("blosc", blosc),)
    return (CodecSpec("numcodecs.blosc", {"cname": "zstd", "clevel": 5, "shuffle": 1, "blocksize": 0}),)


def to_bytes_codec(data_type: DataType) -> CodecSpec:
    """The array -> bytes codec of a new array."""
    if data_type.numpy.hasobject:
        if data_type.name == dtypes.STRING.name:
            return CodecSpec("vlen-utf8")
        if data_type.name in (dtypes.BYTES.name, "variable_length_bytes"):
            return CodecSpec("vlen-bytes")
        raise BadRequest(f"choose the codecs of an array of {data_type.name}")
    return CodecSpec("bytes", {"endian": "little"})


def default_chunks(shape: Shape, itemsize: int) -> Shape:
    """A chunk shape of about `TARGET_CHUNK` bytes: the last axes whole, as far as they fit.

    >>> default_chunks((1000, 1024, 1024), 4)
    (1, 1024, 1024)
    """
    left = max(TARGET_CHUNK // max(itemsize, 1), 1)
    out: list[int] = []
    for n in reversed(shape):
        size = max(1, min(n, left))
        out.append(size)
        left = max(left // size, 1)
    return tuple(reversed(out))


def array_meta(
    shape: Sequence[int],
    dtype: Any,
    *,
    chunks: Sequence[int] | None = None,
    shards: Sequence[int] | None = None,
    compression: Sequence[CodecSpec] | None = None,
    fill_value: object = None,
    dimension_names: Sequence[str | None] | None = None,
    attributes: Mapping[str, JSON] | None = None,
    zarr_format: Literal[2, 3] = 3,
) -> ArrayMeta:
    """Metadata of a new array.

    Args:
        dtype: a NumPy dtype, or a `DataType` (`byteatlas.meta.dtypes.STRING` for text of any length).
        chunks: shape of the chunks (of the inner chunks, with ``shards``); None = about 4 MiB.
        shards: shape of the shards, a multiple of ``chunks``; version 3 only.
        compression: bytes -> bytes codecs; None = shuffle and Zstandard, () = none.

    >>> meta = ba.array_meta((365, 180), "f4", chunks=(30, 90), dimension_names=("time", "lat"))
    >>> meta.shape
    (365, 180)
    """
    accept(VERBS, attributes=attributes, dimension_names=dimension_names)
    if zarr_format is None or not VERBS["zarr_format"].test(zarr_format):
        raise BadRequest(f"zarr_format is {shown(zarr_format)}; known: 2, 3")
    size = whole_numbers(shape, "shape", 0)
    check_compression(compression)
    data_type = dtype if isinstance(dtype, DataType) else dtypes.from_numpy(numpy_type(dtype))
    inner = default_chunks(size, data_type.numpy.itemsize) if chunks is None else whole_numbers(chunks, "chunks", 1)
    if len(inner) != len(size):
        raise BadRequest(f"chunks {inner} for shape {size}")
    chain = (
        to_bytes_codec(data_type),
        *(default_compression(data_type, zarr_format) if compression is None else compression),
    )
    outer = inner
    if shards is not None:
        outer = whole_numbers(shards, "shards", 1)
        _check_shards(outer, inner, zarr_format)
        chain = (sharding(inner, chain),)
    return ArrayMeta(
        shape=size,
        data_type=data_type,
        grid=RegularGrid(outer),
        encodings=(Encoding(chain),),
        fill_value=fill_scalar(fill_value, data_type),
        dimension_names=None if dimension_names is None else tuple(dimension_names),
        attributes=dict(attributes or {}),
        keys=ChunkKeys("default", "/") if zarr_format == 3 else ChunkKeys("v2", "."),
        zarr_format=zarr_format,
    )


def numpy_type(dtype: Any) -> np.dtype[Any]:
    """NumPy's type of that name. Raises `BadRequest`."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise wrong("dtype", dtype, "a NumPy type", valued=True) from error
    return found


def whole_numbers(values: Sequence[int], name: str, least: int) -> Shape:
    """Numbers of elements. Raises `BadRequest` for anything else."""
    if isinstance(values, (str, bytes)) or not isinstance(values, (Sequence, np.ndarray)):
        raise BadRequest(f"{name} is {type(values).__name__}; whole numbers were expected, one for each axis")
    try:
        found = tuple(index(n) for n in values)
    except TypeError as error:
        raise BadRequest(f"{name}: whole numbers were expected, one for each axis") from error
    if any(n < least for n in found):
        raise BadRequest(f"{name} is {found}; no number may be below {least}")
    return found


def check_compression(codecs: object) -> None:
    """Raise `BadRequest` unless this is a list of codecs, or None."""
    if codecs is None:
        return
    if isinstance(codecs, str) or not isinstance(codecs, Sequence) or not all(isinstance(c, CodecSpec) for c in codecs):
        raise BadRequest("compression is a list of CodecSpec, such as [CodecSpec('zstd', {'level': 3})]; [] is none")


def _check_shards(outer: Shape, inner: Shape, zarr_format: int) -> None:
    if zarr_format != 3:
        raise BadRequest("shards need Zarr version 3")
    if len(outer) != len(inner) or any(o < 1 or o % i for o, i in zip(outer, inner, strict=True)):
        raise BadRequest(f"shards of shape {outer} are no multiple of chunks of shape {inner}")


def sharding(inner: Shape, chain: Sequence[CodecSpec]) -> CodecSpec:
    """The sharding codec around a chain, its index at the end with a checksum (as every writer does)."""
    index = [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}]
    codecs = [{"name": c.name, "configuration": dict(c.configuration)} for c in chain]
    configuration = {"chunk_shape": list(inner), "codecs": codecs, "index_codecs": index, "index_location": "end"}
    return CodecSpec("sharding_indexed", configuration)


def fill_scalar(value: object, data_type: DataType) -> object:
    """A fill value as the model holds it. Raises `BadRequest` for one that does not fit the type."""
    if value is None or data_type.numpy.hasobject:
        return value
    try:
        scalar = np.asarray(value).astype(data_type.numpy, casting="unsafe")[()]
    except (ValueError, TypeError, OverflowError) as error:
        raise BadRequest(f"fill value {shown(value)} does not fit {data_type.name}") from error
    if data_type.numpy.kind in "iu" and isinstance(value, (int, np.integer)) and int(scalar) != int(value):
        raise BadRequest(f"fill value {value!r} is out of range for {data_type.name}")
    return scalar
