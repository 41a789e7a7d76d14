"""Cubes as virtual arrays: one chunk is one message."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from byteatlas.manifest.model import SourceInfo, VirtualArray, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON
from byteatlas_scanners.grib.cubes.cube import Cube
from byteatlas_scanners.grib.cubes.datum import Datum
from byteatlas_scanners.grib.grids.model import Grid

PREFIX = "GRIB_"


class Storage(NamedTuple):
    """Where chunks are and how they are decoded.

    Attributes:
        straight: rows that run to and fro are turned, so that one axis of coordinates is right for all.
    """

    source: SourceInfo
    dtype: np.dtype[Any]
    straight: bool = False


def array_of(cube: Cube, names: Mapping[str, str], storage: Storage, attributes: Mapping[str, JSON]) -> VirtualArray:
    """The array of a cube.

    Args:
        names: of its leading dimensions, by axis.
    """
    data, total = cube.bundle.data, math.prod(cube.lead)
    grid = data[0].grid
    offset, length = np.zeros(total, np.uint64), np.zeros(total, np.uint64)
    missing = np.ones(total, np.bool_)
    offset[cube.flat] = np.array([d.placed.message.offset for d in data], np.uint64)
    length[cube.flat] = np.array([d.placed.message.length for d in data], np.uint64)
    missing[cube.flat] = False
    numbers = [d.placed.field.number for d in data]
    fields = sorted(set(numbers))
    encoding = None
    if len(fields) > 1:
        encoding = np.zeros(total, np.uint16)
        encoding[cube.flat] = np.searchsorted(fields, numbers).astype(np.uint16)
    meta = ArrayMeta(
        shape=(*cube.lead, *grid.shape),
        data_type=from_numpy(storage.dtype),
        grid=RegularGrid((*(1 for _ in cube.lead), *grid.shape)),
        encodings=tuple(Encoding((codec(grid, number, storage),)) for number in fields),
        fill_value=storage.dtype.type(np.nan),
        dimension_names=(*(names[dim] for dim in cube.dims), *grid.dims),
        attributes=attributes,
        zarr_format=3,
    )
    shape = (*cube.lead, *(1 for _ in grid.shape))
    return VirtualArray(meta, single_source(shape, storage.source, offset, length, missing=missing, encoding=encoding))


def codec(grid: Grid, number: int, storage: Storage) -> CodecSpec:
    """The codec of a field."""
    configuration: dict[str, JSON] = {"grid": grid.key}
    if number:
        configuration["field"] = number
    if storage.dtype != np.dtype("f8"):
        configuration["dtype"] = storage.dtype.str
    if grid.alternates and not storage.straight:
        configuration["rows"] = "stored"
    return CodecSpec(f"byteatlas.grib{grid.edition}", configuration)


def locators(cube: Cube) -> tuple[str, ...]:
    """One for each place of a cube, in C order; empty texts where it has no field."""
    found = [""] * math.prod(cube.lead)
    for at, datum in zip(cube.flat.tolist(), cube.bundle.data, strict=True):
        found[at] = datum.placed.locator
    return tuple(found)


def attributes_of(cube: Cube) -> dict[str, JSON]:
    """CF attributes, and all numbers of the sections that are the same for all fields."""
    first = cube.bundle.data[0]
    parameter, times = first.parameter, first.product.times
    found: dict[str, JSON] = {"long_name": parameter.name}
    if parameter.units:
        found["units"] = parameter.units
    if parameter.standard and parameter.standard != "unknown":
        found["standard_name"] = parameter.standard
    found |= {
        f"{PREFIX}shortName": parameter.short,
        f"{PREFIX}paramId": parameter.number,
        f"{PREFIX}typeOfLevel": first.product.level.kind,
        f"{PREFIX}stepType": times.process,
        f"{PREFIX}edition": first.product.edition,
        f"{PREFIX}packingType": ",".join(sorted({d.placed.field.packing.name for d in cube.bundle.data})),
    }
    found |= {f"{PREFIX}{name}": value for name, value in common_keys(cube.bundle.data).items()}
    found |= {f"{PREFIX}{name}": value for name, value in first.grid.values.items()}
    lengths = {(d.product.times.end - d.product.times.begin) for d in cube.bundle.data}
    if len(lengths) == 1 and lengths != {0}:
        found["time_range_seconds"] = lengths.pop()
    if first.grid.rows:
        found[f"{PREFIX}pl"] = list(first.grid.rows)
    return found


VARYING = frozenset({"year", "month", "day", "hour", "minute", "second", "forecastTime", "P1", "P2"})
"""Keys that the coordinates say."""


def common_keys(data: tuple[Datum, ...]) -> dict[str, JSON]:
    """Keys with the same value in all fields."""
    found = {name: value for name, value in data[0].product.keys.items() if name not in VARYING}
    for datum in data[1:]:
        keys = datum.product.keys
        strange = [name for name, value in found.items() if keys.get(name, found) != value]
        for name in strange:
            del found[name]
    return {name: value for name, value in found.items() if value is not None}
