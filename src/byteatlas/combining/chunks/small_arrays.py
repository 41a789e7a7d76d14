"""Small arrays whose values are kept in the map itself: rewritten coordinates."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import BadRequest
from byteatlas.manifest.model import VirtualArray, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON

SMALL = 1 << 20
"""Bytes; arrays up to this are read and kept in the map rather than cut inside of their chunks."""
COMPRESS_ABOVE = 32 << 10
"""Bytes; smaller arrays are not worth a codec that a reader has to have."""
SHUFFLED = frozenset("iufcmM")
"""Kinds of elements that compress better byte by byte: coordinates go up in even steps."""


def inline_array(
    values: NDArray[Any],
    dims: tuple[str | None, ...],
    attributes: Mapping[str, JSON],
    zarr_format: Literal[1, 2, 3] = 2,
) -> VirtualArray:
    """``values`` as an array of one chunk whose bytes (little endian; shuffled and zlib when large) are in the map.

    Every value is there, and in versions 1 and 2 there is no fill value: readers (xarray among them) take that of a
    version 2 array for "no data". Raises `BadRequest` for element types that have no fixed size.
    """
    if values.dtype.hasobject:
        raise BadRequest("values of variable length cannot be kept in a map as one chunk")
    little = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False)
    data = little.tobytes()
    codecs = [CodecSpec("bytes", {"endian": "little"} if values.dtype.itemsize > 1 else {})]
    if len(data) > COMPRESS_ABOVE:
        if values.dtype.kind in SHUFFLED and values.dtype.itemsize > 1:
            size = values.dtype.itemsize
            data = np.frombuffer(data, np.uint8).reshape(-1, size).T.tobytes()
            codecs.append(CodecSpec("numcodecs.shuffle", {"elementsize": size}))
        data = zlib.compress(data, 1)
        codecs.append(CodecSpec("numcodecs.zlib", {"level": 1}))
    native = values.dtype.newbyteorder("=")
    meta = ArrayMeta(
        shape=values.shape,
        data_type=from_numpy(native),
        grid=RegularGrid(tuple(max(1, n) for n in values.shape)),
        encodings=(Encoding(tuple(codecs)),),
        fill_value=np.zeros((), native)[()] if zarr_format == 3 else None,
        dimension_names=dims,
        attributes=attributes,
        keys=ChunkKeys("default", "/") if zarr_format == 3 else ChunkKeys("v2", "."),
        zarr_format=zarr_format,
    )
    counts = tuple(1 if n else 0 for n in values.shape)
    return VirtualArray(meta, inline_manifest(counts, {0: data} if values.size else {}))
