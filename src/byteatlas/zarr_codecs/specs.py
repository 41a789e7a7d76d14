"""What zarr-python says of a chunk, in our words, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zarr.core.array_spec import ArraySpec as ZarrSpec
from zarr.core.buffer import Buffer as ZarrBuffer
from zarr.core.buffer import NDBuffer
from zarr.core.dtype import get_data_type_from_json

from byteatlas.codecs import ArraySpec
from byteatlas.meta import dtypes
from byteatlas.meta.model import DataType


def data_type_of(zdtype: Any) -> DataType:
    """Our data type for one of zarr-python's. Raises `Unsupported`, `InvalidMetadata`."""
    return dtypes.from_v3(zdtype.to_json(zarr_format=3))


def spec_of(chunk: ZarrSpec) -> ArraySpec:
    """The array that a codec sees."""
    return ArraySpec(tuple(chunk.shape), data_type_of(chunk.dtype), chunk.fill_value)


def changed(chunk: ZarrSpec, spec: ArraySpec) -> ZarrSpec:
    """What zarr-python is to take for the array that an array -> array codec gives."""
    made: ZarrSpec = replace(
        chunk,
        shape=spec.shape,
        dtype=get_data_type_from_json(dtypes.to_v3(spec.data_type), zarr_format=3),
        fill_value=spec.dtype.type(0) if spec.fill is None else spec.fill,
    )
    return made


def bytes_of(data: ZarrBuffer) -> memoryview:
    """The bytes of a buffer, one-dimensional."""
    values: Any = np.ascontiguousarray(data.as_numpy_array())
    return memoryview(values).cast("B")


def array_of(values: NDArray[Any], chunk: ZarrSpec) -> NDBuffer:
    """Values as zarr-python has them: of its own NumPy type, which for text differs from ours."""
    native = chunk.dtype.to_native_dtype()
    if values.dtype != native:
        values = values.astype(native)
    made: NDBuffer = chunk.prototype.nd_buffer.from_ndarray_like(values)
    return made
