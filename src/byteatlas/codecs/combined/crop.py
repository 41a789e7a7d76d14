"""``byteatlas.crop``: the chunk is a part of what its bytes decode to.

It lets files with different chunking, or parts of chunks, stand in one grid. Configuration: ``origin``, where the part
begins along each axis, and ``shape``, the shape that the bytes decode to.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import decode_only
from byteatlas.codecs.core.contract import MOST_CHUNK, ArraySpec, ArrayStep, ChainContext
from byteatlas.codecs.core.options import Configuration, only
from byteatlas.errors import Unsupported
from byteatlas.meta.parts import shape_of
from byteatlas.meta.place import invalid
from byteatlas.types import Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Crop:
    """The codec."""

    origin: Shape
    shape: Shape

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        if len(spec.shape) != len(self.shape) or any(
            o + n > whole for o, n, whole in zip(self.origin, spec.shape, self.shape, strict=True)
        ):
            raise invalid(f"{spec.shape} at {self.origin} is not inside {self.shape}")
        if math.prod(self.shape) * max(1, spec.dtype.itemsize) > MOST_CHUNK:
            raise Unsupported("too-large", f"a chunk of shape {self.shape}")
        part = tuple(slice(o, o + n) for o, n in zip(self.origin, spec.shape, strict=True))

        def decode(array: NDArray[Any]) -> NDArray[Any]:
            return np.ascontiguousarray(array[part])

        return ArrayStep(ArraySpec(self.shape, spec.data_type, spec.fill), decode, decode_only("byteatlas.crop"))


def make(configuration: Configuration) -> Crop:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "origin", "shape")
    origin, shape = shape_of(configuration.get("origin"), "origin"), shape_of(configuration.get("shape"), "shape", 1)
    if len(origin) != len(shape):
        raise invalid(f"origin {origin} and shape {shape} have different lengths")
    return Crop(origin, shape)
