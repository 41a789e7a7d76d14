"""Files of a drawn set, written by the netCDF library."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from numpy.typing import NDArray
from tests.differential.random_sets.draw import UNITS, FileSpec, Mode


def in_units(hours: Any, units: str) -> NDArray[np.float64]:
    per, shift = UNITS[units]
    return (np.asarray(hours, "f8") - shift) / per


def values_of(s: FileSpec, member: int = 0) -> NDArray[np.float64]:
    """Numbers for (time, y, x) that depend on the place only, so that files agree where they overlap."""
    t, y, x = np.ix_(np.asarray(s.hours, int), np.asarray(s.rows, int), np.asarray(s.columns, int))
    found: NDArray[np.float64] = np.asarray((t * 7 + y * 5 + x * 3 + member * 11) % 110, "f8")
    return found if np.dtype(s.stored).kind in "iu" else found / 4


def write(path: Path, s: FileSpec, mode: Mode, member: int) -> str:
    """One file."""
    with netCDF4.Dataset(path, "w", format=s.format) as f:
        f.set_auto_maskandscale(False)
        f.history = f"made as {path.name}"
        for name, n in (("time", None if s.unlimited else len(s.hours)), ("y", len(s.rows)), ("x", len(s.columns))):
            f.createDimension(name, n)
        write_times(f, s)
        for name, places in (("y", s.rows), ("x", s.columns)):
            if name not in s.lack:
                f.createVariable(name, "f8", (name,))[:] = np.asarray(places, "f8")
        crs = f.createVariable("crs", "i4", ())
        crs.grid_mapping_name = "transverse_mercator" if s.epsg == 32633 else "latitude_longitude"
        crs.epsg = s.epsg
        if "a" not in s.lack:
            write_packed(f, s, mode, member)
        if "z" not in s.lack:
            z = f.createVariable("z", s.static_type, ("y", "x"))
            z[:] = np.add.outer(np.asarray(s.rows) * 10, s.columns)
        if "flag" not in s.lack:
            flag = f.createVariable("flag", "i1", ("time",), fill_value=-1)
            flag.flag_values, flag.flag_meanings = np.array([0, 1, 2], "i1"), "good bad ugly"
            flag[:] = np.asarray(s.hours, int) // 3 % 3
        write_text(f, s)
        if mode == "groups":
            below = f.createGroup("deep") if not s.classic else None
            if below is not None:
                w = below.createVariable("w", "f4", ("time",))
                w[:] = np.asarray(s.hours, "f4") * 2
    return str(path)


def write_times(f: Any, s: FileSpec) -> None:
    """The coordinate, its bounds, and an auxiliary time in units of its own."""
    chunk = {} if s.time_chunk is None else {"chunksizes": (s.time_chunk if s.unlimited else max(1, len(s.hours)),)}
    if "time" not in s.lack:
        time = f.createVariable("time", s.time_type, ("time",), **chunk)
        time.units = s.units
        if s.calendar is not None:
            time.calendar = s.calendar
        time[:] = in_units(s.hours, s.units)
    if s.bounds and "time" not in s.lack:
        f.createDimension("nv", 2)
        f.variables["time"].bounds = "time_bnds"
        bounds = f.createVariable("time_bnds", "f8", ("time", "nv"))
        ends = np.stack([np.asarray(s.hours), np.asarray(s.hours) + 1], 1) if s.hours else np.empty((0, 2))
        bounds[:] = in_units(ends, s.units)
    if s.valid_units is not None and "valid" not in s.lack:
        valid = f.createVariable("valid", "f8", ("time",), fill_value=-9e9 if s.valid_hole else None)
        valid.units, valid.calendar = s.valid_units, s.calendar or "standard"
        line = in_units(np.asarray(s.hours, "f8") + 6, s.valid_units)
        if s.valid_hole and len(line):
            line[0] = -9e9
        valid[:] = line


def write_packed(f: Any, s: FileSpec, mode: Mode, member: int) -> None:
    """The data variable."""
    how: dict[str, Any] = dict(s.filters)
    shape = (max(1, len(s.hours)), len(s.rows), len(s.columns))
    if s.chunks is not None:
        most = s.chunks if s.unlimited else tuple(min(c, n) for c, n in zip(s.chunks, shape, strict=True))
        how["chunksizes"] = (most[0], min(most[1], shape[1]), min(most[2], shape[2]))
    big = how.pop("endian", None) == "big" and not s.netcdf3
    how |= {"endian": "big"} if big else {}
    a = f.createVariable("a", (">" if big else "") + s.stored, ("time", "y", "x"), fill_value=s.nodata, **how)
    a.units, a.grid_mapping = s.quantity, "crs"
    if s.cell_methods is not None:
        a.cell_methods = s.cell_methods
    if s.missing is not None:
        a.missing_value = np.array(s.missing, s.stored)
    if s.scale is not None:
        a.scale_factor, a.add_offset = np.float64(s.scale), np.float64(s.offset)
    a.set_auto_maskandscale(False)
    values = values_of(s, member if mode == "new" else 0).astype(s.stored)
    if s.nodata is not None and len(values):
        values[0, 0, 0] = s.nodata
    n = len(values) if s.written is None else min(s.written, len(values))
    if n:
        a[:n] = values[:n]


def write_text(f: Any, s: FileSpec) -> None:
    """A text for each time, as characters or as strings."""
    if s.text is None or "label" in s.lack:
        return
    texts = [f"t{h:04d}" for h in s.hours]
    if s.text == "str":
        label = f.createVariable("label", str, ("time",))
        for i, text in enumerate(texts):
            label[i] = text
        return
    f.createDimension("letters", 6)
    label = f.createVariable("label", "S1", ("time", "letters"))
    if texts:
        label[:] = np.array([list(t.ljust(6, "\0")) for t in texts], "S1")
