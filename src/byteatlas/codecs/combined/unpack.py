"""``byteatlas.unpack``: stored numbers to the values they stand for, where files are packed in different ways.

Decoding does what readers of the CF conventions (1.11, sections 2.5.1 and 8.1) do: stored values that mean "no data"
become NaN, the others are converted to the array's floating-point type, multiplied by ``scale_factor`` and moved by
``add_offset``, in this order. Without any of these it is a plain conversion to a type that holds all values.

Configuration: ``data_type`` of the packed values (as Zarr v3 writes it); ``stored_type`` when they are stored in yet
another type; ``scale_factor``, ``add_offset``; ``mask``: a list of stored values; ``unsigned``: read integers as
unsigned (true) or signed (false) ones.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.checks import decode_only
from byteatlas.codecs.core.contract import ArraySpec, ArrayStep, ChainContext
from byteatlas.codecs.core.options import Configuration, choice, number, only
from byteatlas.meta.dtypes import from_v3
from byteatlas.meta.model import DataType
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON
from byteatlas.values import dataclass

MOST_MASKS = 64


@dataclass(frozen=True, slots=True)
class Unpack:
    """The codec. ``scale`` 1 and ``offset`` 0 do nothing."""

    packed: DataType
    stored: DataType
    scale: float
    offset: float
    mask: tuple[int | float, ...]
    unsigned: bool | None

    def bind_array(self, spec: ArraySpec, context: ChainContext) -> ArrayStep:
        packed, out = self.packed.numpy, spec.dtype
        if packed.kind not in "iufb" or out.kind not in "iufb":
            raise invalid(f"it is for numbers, not {self.packed.name} to {spec.data_type.name}")
        changes = self.scale != 1.0 or self.offset != 0.0 or self.mask
        if changes and out.kind != "f":
            raise invalid(f"it makes floating-point numbers, not {spec.data_type.name}")
        seen = signless(packed, self.unsigned)
        hidden = tuple(v for m in self.mask if (v := as_stored(m, seen)) is not None)
        scale, offset = self.scale, self.offset

        def decode(array: NDArray[Any]) -> NDArray[Any]:
            values = array if array.dtype == packed else array.astype(packed)
            values = values.view(seen) if seen != packed else values
            result: NDArray[Any] = values.astype(out)
            if scale != 1.0:
                result *= out.type(scale)
            if offset != 0.0:
                result += out.type(offset)
            for value in hidden:
                result[values == value] = np.nan
            return result

        return ArrayStep(ArraySpec(spec.shape, self.stored), decode, decode_only("byteatlas.unpack"))


def signless(dtype: np.dtype[Any], unsigned: bool | None) -> np.dtype[Any]:
    """The type that packed integers are read as."""
    if unsigned is None or dtype.kind not in "iu":
        return dtype
    return np.dtype(f"{'u' if unsigned else 'i'}{dtype.itemsize}")


def as_stored(value: int | float, dtype: np.dtype[Any]) -> Any:
    """A mask value as an element of ``dtype`` (two's complement for the other reading); None when it can be none."""
    if dtype.kind == "f":
        return np.array(value, dtype)[()]
    if dtype.kind not in "iu" or not math.isfinite(value) or not float(value).is_integer():
        return None
    bits = 8 * dtype.itemsize
    number = int(value)
    if not -(1 << (bits - 1)) <= number < (1 << bits):
        return None
    wrapped = number % (1 << bits)
    return dtype.type(wrapped - (1 << bits) if dtype.kind == "i" and wrapped >> (bits - 1) else wrapped)


def make(configuration: Configuration) -> Unpack:
    """The codec from its configuration. Raises `InvalidMetadata`."""
    only(configuration, "data_type", "stored_type", "scale_factor", "add_offset", "mask", "unsigned")
    with InMember("data_type"):
        packed = from_v3(configuration.get("data_type"))
    with InMember("stored_type"):
        stored = packed if configuration.get("stored_type") is None else from_v3(configuration["stored_type"])
    scale, offset = number(configuration, "scale_factor", 1.0), number(configuration, "add_offset", 0.0)
    unsigned = choice(configuration, "unsigned", (None, True, False))
    return Unpack(packed, stored, float(scale), float(offset), _mask(configuration.get("mask", [])), unsigned)


def _mask(value: JSON) -> tuple[int | float, ...]:
    if not isinstance(value, (list, tuple)) or len(value) > MOST_MASKS:
        raise invalid(f"mask: not a list of at most {MOST_MASKS} numbers")
    return tuple(number({"mask": item}, "mask") for item in value)
