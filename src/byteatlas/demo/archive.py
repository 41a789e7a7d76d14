"""Write the demonstration's archive: one netCDF-4 file a month, by the netCDF library itself.

What the files have in common with real ones: dimension scales, an unlimited time, groups, attributes, packed integers
(``scale_factor``, ``add_offset``, ``_FillValue``), deflate with and without shuffle, checksums, and chunks of several
shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.demo.ocean import Ocean
from byteatlas.errors import MissingExtra
from byteatlas.values import dataclass

MONTH_STARTS = (0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335)
FILL = -32768


@dataclass(frozen=True, slots=True)
class ArchivePlan:
    """What to write. ``step`` is the grid's spacing in degrees, ``days`` those of each month that have a map."""

    months: int = 12
    step: float = 1.25
    days: tuple[int, ...] = (1, 6, 11, 16, 21, 26)


def make_archive(
    folder: Path, plan: ArchivePlan | None = None, done: Callable[[str], None] | None = None
) -> list[Path]:
    """Write the files of an archive into ``folder`` and give their paths. Existing files are replaced.

    Raises `MissingExtra` without the netCDF4 package.
    """
    try:
        import netCDF4
    except ImportError as error:
        raise MissingExtra("demo", "making the demonstration's archive") from error
    plan = plan or ArchivePlan()
    ocean = Ocean.every(plan.step)
    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for month in range(plan.months):
        path = folder / f"ocean_2024-{month + 1:02d}.nc"
        with netCDF4.Dataset(path, "w", format="NETCDF4") as file:
            _describe(file, ocean, month)
            _fill(file, ocean, plan, month)
        made.append(path)
        if done is not None:
            done(path.name)
    return made


def _describe(file: Any, ocean: Ocean, month: int) -> None:
    """Dimensions, variables and attributes."""
    file.setncatts(
        {
            "Conventions": "CF-1.11",
            "title": "Sea surface temperature and weather of a planet that resembles ours",
            "source": "made up by byteatlas demo; not observations",
            "month": np.int32(month + 1),
        }
    )
    file.createDimension("time", None)
    file.createDimension("lat", len(ocean.lat))
    file.createDimension("lon", len(ocean.lon))
    time = file.createVariable("time", "f8", ("time",), chunksizes=(64,))
    time.setncatts({"standard_name": "time", "axis": "T", "units": "days since 2024-01-01", "calendar": "standard"})
    for name, letter, standard, units, values in (
        ("lat", "Y", "latitude", "degrees_north", ocean.lat),
        ("lon", "X", "longitude", "degrees_east", ocean.lon),
    ):
        axis = file.createVariable(name, "f4", (name,))
        axis.setncatts({"standard_name": standard, "units": units, "axis": letter})
        axis[:] = values
    crs = file.createVariable("crs", "i4", ())
    crs.setncatts({"grid_mapping_name": "latitude_longitude", "semi_major_axis": 6378137.0})
    crs[...] = 0
    _variables(file, (len(ocean.lat), len(ocean.lon)))


def _variables(file: Any, grid: tuple[int, int]) -> None:
    """Every variable has its own layout: quarters of the globe or all of it in a chunk, other filters."""
    dims = ("time", "lat", "lon")
    quarter, whole = (1, grid[0] // 2, grid[1] // 2), (1, *grid)
    packed = {"zlib": True, "shuffle": True, "complevel": 5}
    sst = file.createVariable("sst", "i2", dims, chunksizes=quarter, fill_value=np.int16(FILL), **packed)
    sst.setncatts(
        {
            "standard_name": "sea_surface_temperature",
            "units": "degree_Celsius",
            "scale_factor": np.float32(0.01),
            "add_offset": np.float32(15),
            "grid_mapping": "crs",
        }
    )
    air = file.createGroup("atmosphere")
    air.setncatts({"level": "surface"})
    t2m = air.createVariable("t2m", "f4", dims, chunksizes=whole, **packed)
    t2m.setncatts({"standard_name": "air_temperature", "units": "K", "height_m": np.float32(2)})
    for name, standard in (("u10", "eastward_wind"), ("v10", "northward_wind")):
        wind = air.createVariable(name, "i2", dims, chunksizes=whole, zlib=True, shuffle=True, complevel=1)
        wind.setncatts({"standard_name": standard, "units": "m s-1", "scale_factor": np.float32(0.1)})
    quality = file.createGroup("quality")
    level = quality.createVariable("level", "i1", dims, chunksizes=whole, zlib=True, shuffle=False, fletcher32=True)
    level.setncatts({"flag_values": np.array([0, 1, 2], "i1"), "flag_meanings": "land open_water sea_ice"})


def _fill(file: Any, ocean: Ocean, plan: ArchivePlan, month: int) -> None:
    land = ocean.land
    for i, day in enumerate(plan.days):
        when = MONTH_STARTS[month % 12] + day - 1 + 366 * (month // 12)
        sst = ocean.sst(when)
        east, north = ocean.wind(when)
        air = file["atmosphere"]
        _raw(file["time"], i, np.float64(when))
        _raw(file["sst"], i, np.where(land, FILL, np.round((sst - 15) / 0.01)).astype(np.int16))
        _raw(air["t2m"], i, (np.round(ocean.air(when, sst) * 16) / 16).astype(np.float32))
        _raw(air["u10"], i, np.round(east / 0.1).astype(np.int16))
        _raw(air["v10"], i, np.round(north / 0.1).astype(np.int16))
        _raw(file["quality/level"], i, np.where(land, 0, np.where(sst <= -1.75, 2, 1)).astype(np.int8))


def _raw(variable: Any, at: int, values: NDArray[Any] | np.generic) -> None:
    """Store packed values as they are."""
    variable.set_auto_maskandscale(False)
    variable[at] = values
