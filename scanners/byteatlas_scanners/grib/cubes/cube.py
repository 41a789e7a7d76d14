"""A variable as a cube: its axes, and which field is where."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.values import dataclass
from byteatlas_scanners.grib.cubes.arrange import NUMBER, Bundle

SPARSE = 8
"""A cube may have so many times more places than fields; beyond that its fields stand in one row."""
FEW = 64
"""... unless it has no more places than this."""
FIELD = "field"


@dataclass(frozen=True, slots=True, eq=False)
class CubeAxis:
    """One thing that a variable may vary by.

    Attributes:
        values: sorted, but for axes that share a dimension (`FIELD`).
        along: the name of the dimension that they go along.
        stays: it is a dimension also where there is one value only.
    """

    name: str
    values: tuple[Any, ...]
    along: str
    stays: bool = False

    @property
    def is_dimension(self) -> bool:
        return self.stays or len(self.values) > 1


@dataclass(frozen=True, slots=True, eq=False)
class Cube:
    """One variable.

    Attributes:
        axes: all of them, also those with a single value, in the order of the dimensions.
        lead: lengths of the leading dimensions: those of the axes that vary or stay.
        flat: for each field of the bundle its place, counted in C order over ``lead``.
    """

    bundle: Bundle
    axes: tuple[CubeAxis, ...]
    lead: tuple[int, ...]
    flat: NDArray[np.int64]

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(axis.along for axis in self.axes if axis.is_dimension))

    @property
    def missing(self) -> int:
        """Places without a field."""
        return math.prod(self.lead) - len(self.flat)


def cube_of(bundle: Bundle, stay: Collection[str] = ()) -> Cube:
    """Lay the fields of a bundle out along the axes that vary, and those that ``stay`` names."""
    names = _ordered(bundle.identity.axes)
    columns = {name: [dict(place)[name] for place in bundle.places] for name in names}
    values = {name: _sorted(set(column)) for name, column in columns.items()}
    dims = [name for name in names if len(values[name]) > 1 or name in stay]
    lead = [len(values[name]) for name in dims]
    total, count = math.prod(lead), len(bundle.places)
    if total > max(FEW, SPARSE * count):
        return _in_a_row(bundle, names, columns)
    flat = np.zeros(count, np.int64)
    for name in dims:
        number = {value: i for i, value in enumerate(values[name])}
        flat = flat * len(number) + np.array([number[v] for v in columns[name]], np.int64)
    axes = tuple(CubeAxis(name, tuple(values[name]), name, name in stay) for name in names)
    return Cube(bundle, axes, tuple(lead), flat)


def _in_a_row(bundle: Bundle, names: tuple[str, ...], columns: dict[str, list[Any]]) -> Cube:
    """One dimension for all axes that vary: too few of the combinations are there."""
    axes = []
    for name in names:
        varies = len(set(columns[name])) > 1
        axes.append(
            CubeAxis(name, tuple(columns[name]), FIELD) if varies else CubeAxis(name, (columns[name][0],), name)
        )
    count = len(bundle.places)
    return Cube(bundle, tuple(axes), (count,), np.arange(count, dtype=np.int64))


def _ordered(names: tuple[str, ...]) -> tuple[str, ...]:
    """Time, step, level and what else there is, the number of the ensemble's member at last."""
    last = tuple(name for name in names if name == NUMBER)
    return tuple(name for name in names if name != NUMBER) + last


def _sorted(values: set[Any]) -> list[Any]:
    """Values in order; None before the others."""
    return sorted(values, key=lambda v: (v is not None, _comparable(v)))


def _comparable(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(-math.inf if part is None else part for part in value)
    return 0 if value is None else value
