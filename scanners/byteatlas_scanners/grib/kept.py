"""Small arrays that are kept in the map: coordinates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import VirtualArray, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON


def kept(
    values: NDArray[Any], dims: tuple[str, ...], attributes: Mapping[str, JSON], fill: object = None
) -> VirtualArray:
    """An array of one chunk that the map holds."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    meta = ArrayMeta(
        shape=values.shape,
        data_type=from_numpy(values.dtype.newbyteorder("=")),
        grid=RegularGrid(values.shape),
        encodings=(Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        fill_value=fill,
        dimension_names=dims,
        attributes=attributes,
    )
    return VirtualArray(meta, inline_manifest((1,) * values.ndim, {0: little.tobytes()}))
