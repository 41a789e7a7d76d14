"""From datasets, tables and images to arrays, in the groups that the file's Vgroups make."""

from __future__ import annotations

from typing import Any

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, RegularGrid
from byteatlas.scanning.contract import Parse
from byteatlas.scanning.reasons import Reason
from byteatlas.types import JSON, Shape
from byteatlas_scanners.hdf4.chunks import place_chunks
from byteatlas_scanners.hdf4.file import Hdf4File
from byteatlas_scanners.hdf4.format.elements import ChunkedElement, Element, element_length
from byteatlas_scanners.hdf4.sds import ScientificDataset
from byteatlas_scanners.hdf4.storage import ElementPlacement, Wanted, place_element
from byteatlas_scanners.hdf4.values.number_types import default_fill

FILL = "_FillValue"


def serializer(dtype: np.dtype[Any]) -> CodecSpec:
    """``bytes`` in the byte order of stored values."""
    order = dtype.newbyteorder("=").str[0] if dtype.byteorder == "=" else dtype.str[0]
    return CodecSpec("bytes", {} if dtype.itemsize == 1 else {"endian": "big" if order == ">" else "little"})


def dataset_array(file: Hdf4File, dataset: ScientificDataset) -> Parse[VirtualArray]:
    """One dataset as an array. Raises `CorruptFile`, `Unsupported`."""
    dtype, element = dataset.dtype, dataset.element
    if isinstance(dtype, FileFault):
        raise dtype
    if isinstance(element, FileFault):
        raise element
    if dataset.coordinate and not element_length(element):
        raise Unsupported(Reason.NEVER_WRITTEN, "a dimension without values")
    placement = yield from place(file, element, dataset.shape, dtype, dataset.skip)
    return VirtualArray(
        ArrayMeta(
            shape=dataset.shape,
            data_type=from_numpy(dtype.newbyteorder("=")),
            grid=RegularGrid(placement.chunk),
            encodings=placement.encodings,
            fill_value=_fill(dataset, dtype, placement),
            dimension_names=dataset.dims,
            attributes=dataset.attributes,
            zarr_format=2 if len(placement.encodings) == 1 else 3,
        ),
        placement.manifest,
    )


def place(
    file: Hdf4File, element: Element | None, shape: Shape, dtype: np.dtype[Any], skip: int = 0
) -> Parse[ElementPlacement]:
    """Where an array's bytes are. Raises `CorruptFile`, `Unsupported`."""
    if isinstance(element, ChunkedElement):
        if element.itemsize != dtype.itemsize:
            raise CorruptFile(0, f"chunks of elements of {element.itemsize} bytes for {dtype.itemsize}")
        return (yield from place_chunks(file, element, shape, serializer(dtype)))
    wanted = Wanted(shape, serializer(dtype), dtype.itemsize, skip)
    return (yield from place_element(element, wanted, file.source, file.options))


def _fill(dataset: ScientificDataset, dtype: np.dtype[Any], placement: ElementPlacement) -> Any:
    """What elements that nobody wrote read as."""
    native = dtype.newbyteorder("=")
    if placement.fill is not None:
        return np.frombuffer(placement.fill, dtype, 1).astype(native)[0]
    said = _as_element(dataset.attributes.get(FILL), native)
    return said if said is not None else default_fill(dtype)


def _as_element(value: JSON, dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "S":
        return dtype.type(value.encode("latin-1", "replace")) if isinstance(value, str) and len(value) <= 1 else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        found = dtype.type(value)
    except (OverflowError, ValueError):
        return None
    return found if found == value or value != value else None
