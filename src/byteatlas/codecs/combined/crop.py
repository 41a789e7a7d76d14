"""``byteatlas.crop``: the chunk is a part of what its bytes decode to.

It lets files with different chunking, or parts of chunks, stand in one grid. Configuration: ``origin``, where the part
begins along each axis, and ``shape``, the shape that the bytes decode to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import MOST_CHUNK, ArraySpec, ArrayStep, Context
from byteatlas.errors import InvalidMetadata, Unsupported
from byteatlas.types import JSON, Shape


@dataclass(frozen=True, slots=True)
class Crop:
    """The codec."""

    origin: Shape
    shape: Shape

    def bind_array(self, spec: ArraySpec, context: Context) -> ArrayStep:
        if len(spec.shape) != len(self.shape) or any(
            o + n > whole for o, n, whole in zip(self.origin, spec.shape, self.shape, strict=True)
        ):
            raise InvalidMetadata("byteatlas.crop", f"{spec.shape} at {self.origin} is not inside {self.shape}")
        if math.prod(self.shape) * max(1, spec.dtype.itemsize) > MOST_CHUNK:
            raise Unsupported("too-large", f"a chunk of shape {self.shape}")
        part = tuple(slice(o, o + n) for o, n in zip(self.origin, spec.shape, strict=True))

        def decode(array: NDArray[Any]) -> NDArray[Any]:
            return np.ascontiguousarray(array[part])

        return ArrayStep(ArraySpec(self.shape, spec.data_type, spec.fill), decode, cannot_encode)


def cannot_encode(array: NDArray[Any]) -> NDArray[Any]:
    raise Unsupported("codec", "byteatlas.crop reads parts of chunks only")


def make(configuration: Mapping[str, JSON]) -> Crop:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    if set(configuration) != {"origin", "shape"}:
        raise InvalidMetadata("byteatlas.crop", f"settings {sorted(configuration)}, not origin and shape")
    origin, shape = numbers(configuration["origin"], 0), numbers(configuration["shape"], 1)
    if len(origin) != len(shape):
        raise InvalidMetadata("byteatlas.crop", f"origin {origin} and shape {shape} have different lengths")
    return Crop(origin, shape)


def numbers(value: JSON, least: int) -> Shape:
    if not isinstance(value, (list, tuple)) or len(value) > 64:
        raise InvalidMetadata("byteatlas.crop", f"{value!r} is not a list of numbers")
    if not all(isinstance(n, int) and not isinstance(n, bool) and least <= n < 1 << 62 for n in value):
        raise InvalidMetadata("byteatlas.crop", f"{value!r} is not a list of numbers from {least} on")
    return tuple(value)
