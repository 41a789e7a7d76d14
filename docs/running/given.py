"""Make the files that a page of the documentation takes for granted, in the folder where this runs.

    python docs/running/given.py combine

A page names its program in a comment, ``<!-- given: NAME -->``. The files are small, made by the
formats' own libraries.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray

import byteatlas as ba


def _netcdf(path: str, first: int, months: int, name: str = "air", **attributes: str) -> None:
    """Months of a field on a grid of 5 degrees, from a month after January 2001 on."""
    import netCDF4

    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with netCDF4.Dataset(path, "w") as file:
        file.setncatts(attributes)
        lat, lon = np.arange(0.0, 80.0, 5.0), np.arange(-20.0, 25.0, 5.0)
        for dim, values in (("time", None), ("lat", lat), ("lon", lon)):
            file.createDimension(dim, None if values is None else len(values))
            axis = file.createVariable(dim, "f8", (dim,))
            if values is not None:
                axis[:] = values
        days = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])
        file["time"].units = "days since 2001-01-01"
        file["time"][:] = days[first : first + months]
        field = file.createVariable(name, "f4", ("time", "lat", "lon"), zlib=True, chunksizes=(1, 1, 2))
        field.units = "K"
        field[:] = 280 + np.arange(months * len(lat) * len(lon), dtype="f4").reshape(months, len(lat), len(lon)) % 37


def _placed(path: str, image: NDArray[Any]) -> None:
    """An image that says where it lies: pixels of 30 m in UTM zone 33."""
    import tifffile

    keys = (1, 1, 0, 3, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633)
    corner = (0.0, 0.0, 0.0, 5e5, 4e6, 0.0)
    tags = [(33550, "d", 3, (30.0, 30.0, 0.0), True), (33922, "d", 6, corner, True), (34735, "H", 16, keys, True)]
    tifffile.imwrite(path, image, extratags=tags, photometric="minisblack")


def demo() -> None:
    """What the demonstration makes, smaller: three months, and their map."""
    from byteatlas.demo.archive import ArchivePlan, make_archive

    files = make_archive(Path("data"), ArchivePlan(months=3, step=5.0))
    ba.write(ba.combine([f"data/{path.name}" for path in files], "time"), "ocean.parquet")


def combine() -> None:
    """Files that follow each other, maps of them, tiles of images, and two bands."""
    import tifffile

    for i, name in enumerate(("a.nc", "b.nc", "days/c.nc", "new/d.nc")):
        _netcdf(name, 3 * i, 3)
    Path("maps").mkdir()
    ba.write(ba.scan("days/c.nc"), "c.json")
    for name in ("a", "b"):
        ba.write(ba.scan(f"{name}.nc"), f"maps/{name}.json")
    Path("tiles").mkdir()
    for day in (3, 4):
        for row in range(2):
            for column in range(2):
                values = np.full((16, 16), 100 * day + 10 * row + column, "u2")
                tifffile.imwrite(f"tiles/T_2024010{day}_r{row}_c{column}.tif", values)
    for i, band in enumerate(("red", "red", "nir", "nir")):
        _netcdf(f"bands/{band}_{i % 2}.nc", 3 * (i % 2), 3, "reflectance", band=band)


def copy() -> None:
    """A map of a year, a grid, an image that knows where it lies."""
    demo()
    Path("data/ocean_2024-01.nc").rename("ocean.nc")
    ba.write(ba.combine(["ocean.nc", "data/ocean_2024-02.nc"], "time"), "all.parquet")
    _netcdf("sst.nc", 0, 2, "sst")
    _placed("land.tif", (np.add.outer(np.arange(64), np.arange(48)) // 9 % 5).astype("u1"))


def archives() -> None:
    """A ZIP archive with two members that are stored, and one that nobody knows."""
    with zipfile.ZipFile("2024.zip", "w", zipfile.ZIP_STORED) as packed:
        for month in ("january", "february"):
            _netcdf(f"{month}/air.nc", 0, 2)
            packed.write(f"{month}/air.nc")
            Path(f"{month}/air.nc").unlink()
        packed.writestr("README.txt", "Air temperature of 2024.\n")


def fits() -> None:
    """Compressed images of two chips, and a table of events."""
    from astropy.io import fits as library
    from astropy.table import Table

    rng = np.random.default_rng(1)
    chips = []
    for version in (1, 2):
        chip = library.CompImageHDU(rng.normal(100, 5, (1400, 900)).astype("f4"), name="SCI")
        chip.header.update({"EXTVER": version, "CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 83.6})
        chips.append(chip)
    events = library.table_to_hdu(Table({"TIME": np.arange(2000.0), "COUNTS": rng.poisson(9, 2000).astype("i4")}))
    events.name = "EVENTS"
    library.HDUList([library.PrimaryHDU(), *chips, events]).writeto("field.fits.fz")
    library.HDUList([library.PrimaryHDU(), events]).writeto("events.fits")


def grib() -> None:
    """Three runs of a forecast."""
    from fixtures.grib.make_forecasts import gfs

    for hour in (0, 6, 12):
        Path(f"gfs_{hour:02}.grib2").write_bytes(gfs(hour=hour, steps=(6, 12, 24)))


def hdf4() -> None:
    """Granules of MODIS' sinusoidal grid."""
    from fixtures.hdf4.make_hdf4 import granule

    for day in (1, 2, 32):
        granule(Path(), day).rename(f"MOD11A1.A2024{day:03}.h18v04.hdf")


def icechunk() -> None:
    """A series in files, and its end as a Zarr store."""
    demo()
    Path("data/ocean_2024-03.nc").rename("march.nc")
    _netcdf("until_2020.nc", 0, 3)
    _netcdf("more.nc", 3, 3)
    ba.copy("more.nc", "since_2021.zarr")


def kerchunk() -> None:
    """Two days as HDF5, a netCDF-3 file and an image."""
    import h5py
    import netCDF4
    import tifffile

    for day in (1, 2):
        with h5py.File(f"day{day}.nc", "w") as file:
            file["t2m"] = np.full((2, 3), float(day))
            for name, values in {"time": np.arange(2) + 2 * day, "lat": np.arange(3.0)}.items():
                file[name] = values
                file[name].make_scale(name)
            file["t2m"].dims[0].attach_scale(file["time"])
            file["t2m"].dims[1].attach_scale(file["lat"])
    with netCDF4.Dataset("old.nc", "w", format="NETCDF3_CLASSIC") as old:
        old.createDimension("x", 4)
        old.createVariable("v", "f4", ("x",))[:] = np.arange(4)
    tifffile.imwrite("image.tif", np.arange(600, dtype=np.uint8).reshape(20, 30))


def examples() -> None:
    """What the examples in docstrings use: two months, one that does not fit, images, a file that is refused."""
    import h5py
    import netCDF4
    import tifffile

    months = (("jan", (0, 15), "K"), ("feb", (31, 45), "K"), ("other", (60, 75), "m"))
    for month, (name, days, units) in enumerate(months):
        with netCDF4.Dataset(f"{name}.nc", "w") as file:
            file.month = month + 1
            for dim, values in (("time", days), ("lat", (0, 20, 40, 60)), ("lon", range(0, 360, 45))):
                file.createDimension(dim, len(values))
                file.createVariable(dim, "f8", (dim,))[:] = values
            file["time"].units = "days since 2001-01-01"
            air = file.createVariable("air", "f4", ("time", "lat", "lon"), chunksizes=(1, 1, 8), zlib=True)
            air.units = units
            air[:] = np.arange(64).reshape(2, 4, 8) + 100 * month
    Path("changing.nc").write_bytes(Path("jan.nc").read_bytes())
    Path("damaged.nc").write_bytes(Path("jan.nc").read_bytes()[:100])
    for day in (3, 4):
        tifffile.imwrite(f"t_2001010{day}.tif", np.full((4, 4), day, "u1"))
    _placed("land.tif", np.arange(64 * 48, dtype="u2").reshape(64, 48))
    with h5py.File("refused.h5", "w") as file:
        file["extended"] = np.zeros(2, np.longdouble)


PROGRAMS: dict[str, Callable[[], None]] = {
    f.__name__: f for f in (demo, combine, copy, archives, fits, grib, hdf4, icechunk, kerchunk, examples)
}

if __name__ == "__main__":
    for name in sys.argv[1:]:
        PROGRAMS[name]()
