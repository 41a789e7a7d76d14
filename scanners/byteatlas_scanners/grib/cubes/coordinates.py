"""Coordinates of the variables of a group: time, step, level, member and what else they vary by.

Variables share a dimension when they have the same values of it. The values that most variables have get the plain
name (``step``), others a number behind it (``step_2``). A single value is a scalar coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import VirtualArray
from byteatlas.types import JSON
from byteatlas_scanners.grib.cubes.arrange import STEP, TIME
from byteatlas_scanners.grib.cubes.cube import FIELD, Cube, CubeAxis
from byteatlas_scanners.grib.kept import kept
from byteatlas_scanners.grib.tables.levels import DOWN, STANDARD_NAMES

EPOCH = "seconds since 1970-01-01"
CALENDAR = "proleptic_gregorian"
NOT_A_TIME = np.iinfo(np.int64).min
UNITS: tuple[tuple[str, int], ...] = (("hours", 3600), ("minutes", 60), ("seconds", 1))
VALID = "valid_time"


class GroupCoordinates:
    """The coordinates of a group's variables."""

    def __init__(self, cubes: Mapping[str, Cube]) -> None:
        self._names: dict[tuple[str, tuple[Any, ...], str], str] = {}
        self._rows: dict[tuple[Any, ...], str] = {}
        self._taken: set[str] = set(cubes)
        self._valid: dict[tuple[str, ...], str] = {}
        self._cubes = cubes
        counts: dict[str, dict[tuple[str, tuple[Any, ...], str], int]] = {}
        for cube in cubes.values():
            if FIELD in cube.dims:
                self._rows.setdefault(_row_key(cube), self._free(FIELD))
            for axis in cube.axes:
                if not _empty(axis):
                    key = self._key(cube, axis)
                    own = counts.setdefault(axis.name, {})
                    own[key] = own.get(key, 0) + 1
        for name, own in counts.items():
            for key in sorted(own, key=lambda key: (len(key[1]) < 2, -own[key])):
                self._names[key] = self._free(name)

    def _key(self, cube: Cube, axis: CubeAxis) -> tuple[str, tuple[Any, ...], str]:
        if not axis.is_dimension:
            return axis.name, axis.values, "scalar"
        return axis.name, axis.values, self._rows[_row_key(cube)] if axis.along == FIELD else ""

    def _free(self, name: str) -> str:
        """A name that no array of the group has."""
        found, number = name, 1
        while found in self._taken:
            number += 1
            found = f"{name}_{number}"
        self._taken.add(found)
        return found

    def dims(self, cube: Cube) -> dict[str, str]:
        """The name of each leading dimension of a cube."""
        found = {}
        for axis in cube.axes:
            if axis.is_dimension:
                found[axis.along] = (
                    self._rows[_row_key(cube)] if axis.along == FIELD else self._names[self._key(cube, axis)]
                )
        return found

    def auxiliary(self, cube: Cube) -> list[str]:
        """Names of the coordinates of a cube that are no dimensions: scalars, valid time, those along a row."""
        dims = set(self.dims(cube).values())
        names = [self._names[self._key(cube, axis)] for axis in cube.axes if not _empty(axis)]
        return [name for name in names if name not in dims] + [self._valid_name(cube)]

    def _valid_name(self, cube: Cube) -> str:
        key = tuple(self._names[self._key(cube, axis)] for axis in cube.axes if axis.name in (TIME, STEP))
        if key not in self._valid:
            self._valid[key] = self._free(VALID)
        return self._valid[key]

    def arrays(self) -> dict[str, VirtualArray]:
        """All coordinates."""
        found: dict[str, VirtualArray] = {}
        for cube in self._cubes.values():
            for axis in cube.axes:
                if not _empty(axis):
                    name = self._names[self._key(cube, axis)]
                    if name not in found:
                        dims = (self.dims(cube)[axis.along],) if axis.is_dimension else ()
                        found.update(_coordinate(name, axis, dims, cube))
            valid = self._valid_name(cube)
            if valid not in found:
                found[valid] = self._valid_time(cube)
            bounds = self.bounds(cube)
            if bounds is not None:
                found[bounds] = self._ranges(cube)
        return found

    def bounds(self, cube: Cube) -> str | None:
        """The name of the array with the begin and end of the time that values are of; None for moments."""
        if all(d.product.times.begin == d.product.times.end for d in cube.bundle.data):
            return None
        return f"{next(name for name, other in self._cubes.items() if other is cube)}_step_bounds"

    def _ranges(self, cube: Cube) -> VirtualArray:
        """Begin and end of the time that values are of, for each reference time and step."""
        axes = [axis for axis in cube.axes if axis.name in (TIME, STEP) and axis.is_dimension]
        along = list(dict.fromkeys(axis.along for axis in axes))
        shape = [cube.lead[cube.dims.index(dim)] for dim in along]
        pairs = np.full((*shape, 2), NOT_A_TIME, np.int64)
        rows = np.unravel_index(cube.flat, cube.lead) if cube.lead else ()
        places = [rows[cube.dims.index(dim)] for dim in along]
        for number, datum in enumerate(cube.bundle.data):
            place = tuple(int(column[number]) for column in places)
            times = datum.product.times
            pairs[place] = (times.begin, times.end)
        names = self.dims(cube)
        dims = (*(names[dim] for dim in along), "bounds")
        words: dict[str, JSON] = {
            "long_name": "begin and end of the time that values are of, since the reference time", "units": "seconds",
            "dtype": "timedelta64[ns]", "_FillValue": int(NOT_A_TIME),
        }  # fmt: skip
        return kept(pairs, dims, words, np.int64(NOT_A_TIME))

    def _valid_time(self, cube: Cube) -> VirtualArray:
        """Reference time plus step."""
        time, step = (next(axis for axis in cube.axes if axis.name == name) for name in (TIME, STEP))
        times, steps = np.array(time.values, np.int64), np.array(step.values, np.int64)
        dims = self.dims(cube)
        if FIELD in (time.along if time.is_dimension else "", step.along if step.is_dimension else ""):
            along: tuple[str, ...] = (dims[FIELD],)
        else:
            along = tuple(dims[axis.along] for axis in (time, step) if axis.is_dimension)
            times = times[:, None] if len(along) == 2 else times
        valid = np.where(times == NOT_A_TIME, NOT_A_TIME, times + steps)
        valid = valid if along else valid.reshape(())
        return kept(valid, along, {"standard_name": "time", "long_name": "time", **_calendar()}, np.int64(NOT_A_TIME))


def _row_key(cube: Cube) -> tuple[Any, ...]:
    return tuple((axis.name, axis.values) for axis in cube.axes)


def _empty(axis: CubeAxis) -> bool:
    """Whether it has nothing to say: a type of level without values."""
    return all(value is None for value in axis.values)


def _calendar() -> dict[str, JSON]:
    return {"units": EPOCH, "calendar": CALENDAR, "_FillValue": int(NOT_A_TIME)}


def _coordinate(name: str, axis: CubeAxis, dims: tuple[str, ...], cube: Cube) -> dict[str, VirtualArray]:
    """The array of one axis, with its bounds where it has any."""
    match axis.name:
        case "time":
            words = {"standard_name": "forecast_reference_time", "long_name": "initial time of forecast", **_calendar()}
            return {name: kept(_shaped(axis, np.int64), dims, words, np.int64(NOT_A_TIME))}
        case "step":
            return {name: _step(axis, dims)}
        case "number":
            words = {"standard_name": "realization", "long_name": "ensemble member numerical id", "units": "1"}
            return {name: kept(_shaped(axis, np.int64), dims, words)}
        case _ if axis.name == cube.bundle.identity.level:
            return _level(name, axis, dims, cube)
        case _:
            return {name: kept(_shaped(axis, np.float64), dims, {"long_name": axis.name, **_units(axis.name, cube)})}


def _units(name: str, cube: Cube) -> dict[str, JSON]:
    if name == "percentile":
        return {"units": "%"}
    return {"units": "1"} if name != "threshold" else {}


def _shaped(axis: CubeAxis, dtype: type[np.generic]) -> NDArray[Any]:
    values: NDArray[Any] = np.array(axis.values, dtype)
    return values if axis.is_dimension else values.reshape(())


def _step(axis: CubeAxis, dims: tuple[str, ...]) -> VirtualArray:
    values = _shaped(axis, np.int64)
    units, length = next((word, n) for word, n in UNITS if not (values % n).any())
    words: dict[str, JSON] = {
        "standard_name": "forecast_period", "long_name": "time since forecast_reference_time", "units": units,
        "dtype": "timedelta64[ns]",
    }  # fmt: skip
    return kept(values // length, dims, words)


def _level(name: str, axis: CubeAxis, dims: tuple[str, ...], cube: Cube) -> dict[str, VirtualArray]:
    kind = cube.bundle.identity.level
    pairs = [(np.nan, None) if value is None else value for value in axis.values]
    first = np.array([pair[0] for pair in pairs], np.float64)
    second = np.array([pair[0] if pair[1] is None else pair[1] for pair in pairs], np.float64)
    layers = any(pair[1] is not None for pair in pairs)
    values = first
    if layers and len(set(first.tolist())) < len(first):
        values = (first + second) / 2
    words: dict[str, JSON] = {"long_name": kind, "units": cube.bundle.data[0].product.level.units}
    if kind in STANDARD_NAMES:
        words["standard_name"] = STANDARD_NAMES[kind]
    if axis.is_dimension:
        words |= {"axis": "Z", "positive": "down" if kind in DOWN else "up"}
    found = {}
    if layers:
        bounds = np.stack([first, second], -1)
        words["bounds"] = f"{name}_bounds"
        found[f"{name}_bounds"] = kept(bounds if axis.is_dimension else bounds.reshape(2), (*dims, "bounds"), {})
    found[name] = kept(values if axis.is_dimension else values.reshape(()), dims, words)
    return found
