"""An array at a coarser resolution, computed where it is read; and what its attributes and coordinates become."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.array import Array
from byteatlas.array.levels.options import Resampling
from byteatlas.array.levels.reduce import reduced
from byteatlas.errors import BadRequest, InvalidMetadata
from byteatlas.meta import fill
from byteatlas.meta.attributes import MASKS, meant_unsigned
from byteatlas.meta.conventions import step_of
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, Shape


class Coarse:
    """An array whose last two axes are coarser by a factor. It is read as an array is, in bounded memory."""

    def __init__(self, array: Array, factor: int, resampling: Resampling, memory: int) -> None:
        self._array, self._factor, self._resampling, self._memory = array, factor, resampling, memory
        self._missing = missing_values(array.meta)
        self.shape: Shape = (*array.shape[:-2], *(-(-n // factor) for n in array.shape[-2:]))
        self.dtype = array.dtype
        self._meant = meant_type(array.dtype, array.meta.attributes)

    @property
    def size(self) -> int:
        """Elements."""
        return math.prod(self.shape)

    def read(self, region: tuple[slice, ...]) -> NDArray[Any]:
        """The values of a box, in rows as many as fit into memory together with what they are made of."""
        out = np.empty([s.stop - s.start for s in region], self.dtype)
        *outer, rows, columns = region
        wide = _fine(columns, self._factor, self._array.shape[-1])
        row = math.prod(out.shape[:-2]) * self._factor * (wide.stop - wide.start) * max(self.dtype.itemsize, 1)
        step = max(1, self._memory // max(row, 1))
        for begin in range(rows.start, rows.stop, step):
            some = slice(begin, min(begin + step, rows.stop))
            values = self._array.read((*outer, _fine(some, self._factor, self._array.shape[-2]), wide))
            found = reduced(values.view(self._meant), self._factor, self._resampling, self._missing.view(self._meant))
            found = found.view(self.dtype)
            out[..., some.start - rows.start : some.stop - rows.start, :] = found
        return out


def _fine(part: slice, factor: int, length: int) -> slice:
    return slice(part.start * factor, min(part.stop * factor, length))


def meant_type(dtype: np.dtype[Any], attributes: Mapping[str, JSON]) -> np.dtype[Any]:
    """The type of the numbers that are meant: ``_Unsigned`` says where it is the other one of as many bits.

    >>> meant_type(np.dtype("i1"), {"_Unsigned": "true"})
    dtype('uint8')
    """
    unsigned = meant_unsigned(attributes)
    if dtype.kind not in "iu" or unsigned is None:
        return dtype
    return np.dtype(f"{dtype.byteorder}{'u' if unsigned else 'i'}{dtype.itemsize}")


def missing_values(meta: ArrayMeta) -> NDArray[Any]:
    """The values that the attributes call missing, in the array's type; ones that it does not have are left out."""
    found = []
    for name in MASKS:
        given = meta.attributes.get(name)
        for value in given if isinstance(given, list) else [given]:
            try:
                scalar = None if value is None else fill.from_v2(value, meta.data_type, meta.data_type.numpy)
            except (InvalidMetadata, OverflowError, ValueError, BadRequest):
                continue
            if scalar is not None:
                found.append(scalar)
    return np.array(found, meta.data_type.numpy)


def coarse_coordinate(values: NDArray[Any], factor: int) -> NDArray[Any]:
    """Coordinates of blocks: evenly on where they are even (a short last block too), else the means of the blocks.

    >>> coarse_coordinate(np.array([0.5, 1.5, 2.5]), 2)
    array([1., 3.])
    """
    step, count = step_of(values), -(-len(values) // factor)
    if step is not None:
        even = float(values[0]) + step * (factor - 1) / 2 + step * factor * np.arange(count)
        return even if values.dtype.kind != "f" else even.astype(values.dtype)
    parts = [values[i * factor : (i + 1) * factor] for i in range(count)]
    means = np.array([part.astype(np.float64).mean() for part in parts])
    return means if values.dtype.kind != "f" else means.astype(values.dtype)


def coarse_attributes(attributes: Mapping[str, JSON], factor: int, shape: Shape) -> dict[str, JSON]:
    """Attributes in which a transform is that of the coarser pixels.

    Args:
        shape: of the level.
    """
    found = dict(attributes)
    transform = _numbers(found.get("spatial:transform"))
    if transform is not None:
        node = found.get("spatial:registration") == "node"
        found["spatial:transform"] = _scaled(transform, factor, (factor - 1) / 2 if node else 0.0)
    text = found.get("GeoTransform")
    if isinstance(text, str):
        numbers = _numbers(_parsed(text))
        if numbers is not None:
            c, a, b, f, d, e = numbers
            a, b, c, d, e, f = _scaled([a, b, c, d, e, f], factor, 0.0)
            found["GeoTransform"] = f"{c!r} {a!r} {b!r} {f!r} {d!r} {e!r}"
    if "spatial:shape" in found:
        found["spatial:shape"] = list(shape[-2:])
    found.pop("spatial:bbox", None)  # that of the group holds; a last block may reach beyond it
    return found


def _scaled(transform: list[float], factor: int, shift: float) -> list[Any]:
    a, b, c, d, e, f = transform
    return [a * factor, b * factor, c + (a + b) * shift, d * factor, e * factor, f + (d + e) * shift]


def _parsed(text: str) -> list[float] | None:
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return None


def _numbers(value: object) -> list[float] | None:
    if not isinstance(value, list) or len(value) != 6:
        return None
    if not all(isinstance(n, (int, float)) and not isinstance(n, bool) and math.isfinite(n) for n in value):
        return None
    return [float(n) for n in value]
