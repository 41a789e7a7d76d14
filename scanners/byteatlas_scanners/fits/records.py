"""Arrays that are one field of records of fixed length: columns of tables, parts of random groups.

The chunks are runs of whole records. All fields of a table share them, and each takes its own part.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from byteatlas.manifest.kinds.strided import Strided, contiguous
from byteatlas.manifest.model import Manifest, SourceInfo, VirtualArray, empty_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, replace


@dataclass(frozen=True, slots=True)
class FitsRecords:
    """Records of one table.

    Attributes:
        count, stride: how many, and bytes of each.
        begin: where the first one is in the file.
        target: bytes that a chunk should have; None = one chunk.
    """

    count: int
    stride: int
    begin: int
    source: SourceInfo
    target: int | None


@dataclass(frozen=True, slots=True)
class RecordField:
    """One field of every record.

    Attributes:
        inner: shape of the field in one record.
        dtype: of the array, in native byte order.
        codec: how whole records become the field.
        names: of the inner axes.
    """

    inner: Shape
    dtype: np.dtype[np.generic]
    codec: CodecSpec
    names: tuple[str, ...]
    attributes: Mapping[str, JSON]


def field_array(records: FitsRecords, item: RecordField, axis: str = "row") -> VirtualArray:
    """The array of a field: shape (records, *inner). The records must lie inside of the file."""
    shape = (records.count, *item.inner)
    empty = 0 in shape or not item.dtype.itemsize
    inner = tuple(max(1, n) for n in item.inner)
    # Nothing is stored of an empty array, and its records may have no bytes at all.
    count, stride = (0, 1) if empty else (records.count, records.stride)
    layout = contiguous((count,), stride, records.begin, records.source, records.target)
    chunk = (max(1, records.count) if empty else layout.chunk_shape[0], *inner)
    grid = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    encodings = [Encoding((CodecSpec("bytes", {"endian": "big"}) if empty else item.codec,))]
    if layout.tail is not None and not empty:
        encodings.append(Encoding((item.codec,), chunk_shape=(layout.tail[0], *inner)))
    meta = ArrayMeta(
        shape=shape,
        data_type=from_numpy(item.dtype if item.dtype.itemsize else np.dtype("S1")),
        grid=RegularGrid(chunk),
        encodings=tuple(encodings),
        dimension_names=(axis, *item.names),
        attributes=item.attributes,
        zarr_format=3,
    )
    return VirtualArray(meta, empty_manifest(grid) if empty else _with_axes(layout.manifest, grid))


def _with_axes(manifest: Manifest, grid: Shape) -> Manifest:
    """The manifest of a one-dimensional grid for one with further axes of one chunk each."""
    if isinstance(manifest, Strided):
        if len(grid) == 1:
            return manifest
        strides = (*manifest.strides, *(0,) * (len(grid) - 1))
        return Strided(grid, manifest.source, manifest.base, strides, manifest.length)
    return replace(manifest.load(), grid_shape=grid)


def column_codec(
    records: FitsRecords, offset: int, stored: np.dtype[np.generic], inner: Shape, form: str = "number"
) -> CodecSpec:
    """The codec of a field of this type and shape: plain ``bytes`` where records have no other one."""
    whole = not offset and stored.itemsize * math.prod(inner) == records.stride
    if form == "number" and whole and stored.itemsize:
        return CodecSpec("bytes", {} if stored.itemsize == 1 or stored.kind == "S" else {"endian": "big"})
    configuration: dict[str, JSON] = {"stride": records.stride, "offset": offset, "dtype": stored.str}
    return CodecSpec("byteatlas.fits_column", configuration if form == "number" else {**configuration, "form": form})
