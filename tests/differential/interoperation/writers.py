"""What is written: trees with one feature each, in the forms that we write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import netCDF4
import numpy as np
from tests.differential.interoperation.archive import EVEN, UNEVEN, combined
from tests.places import FIXTURES

import byteatlas as ba


def _netcdf(folder: Path, **options: Any) -> Any:
    path = folder / "a.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 40)
        file.createDimension("x", 30)
        made = file.createVariable("v", "i4", ("y", "x"), **options)
        made.units = "K"
        made[:20] = np.arange(600).reshape(20, 30)
        if options.get("zlib") is not None:
            made[20:] = 7
    return ba.scan(path)


def _groups(folder: Path) -> Any:
    path = folder / "groups.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("y", 4)
        file.createVariable("v", "f4", ("y",))[:] = range(4)
        file.createGroup("below").createVariable("w", "f4", ("y",))[:] = range(4, 8)
    return ba.scan(path)


def _text(folder: Path) -> Any:
    path = folder / "text.nc"
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("n", 3)
        file.createVariable("name", str, ("n",))[:] = np.array(["a", "", "ü"], object)
    return ba.scan(path)


FEATURES: Mapping[str, Callable[[Path], Any]] = {
    "plain": lambda folder: ba.scan(FIXTURES / "netcdf3" / "cdf1.nc"),
    "compressed": lambda folder: _netcdf(folder, zlib=True, shuffle=True, chunksizes=(10, 30)),
    "chunks never written": lambda folder: _netcdf(folder, chunksizes=(10, 30)),
    "groups": _groups,
    "text": _text,
    "TIFF with LZW": lambda folder: _lzw(folder),
    "GRIB": lambda folder: ba.scan(FIXTURES / "grib" / "gfs.grib2"),
    "five encodings": lambda folder: combined(folder, EVEN),
    "uneven chunks": lambda folder: combined(folder, UNEVEN),
}


def _lzw(folder: Path) -> Any:
    import tifffile

    values = np.arange(64 * 64, dtype="u2").reshape(64, 64)
    tifffile.imwrite(folder / "a.tif", values, compression="lzw", predictor=True, tile=(32, 32))
    return ba.scan(folder / "a.tif")


def _json(vg: Any, folder: Path) -> Path:
    ba.write(vg, folder / "map.json")
    return folder / "map.json"


def _json3(vg: Any, folder: Path) -> Path:
    ba.write(vg, folder / "map3.json", options=ba.MapWriteOptions(zarr_format=3, consolidated=True))
    return folder / "map3.json"


def _parquet(vg: Any, folder: Path) -> Path:
    ba.write(vg, folder / "map.parquet")
    return folder / "map.parquet"


def _icechunk(vg: Any, folder: Path) -> Path:
    ba.write(vg, folder / "repository", format="icechunk")
    return folder / "repository"


def _copy(vg: Any, folder: Path) -> Path:
    ba.copy(vg, folder / "copy.zarr")
    return folder / "copy.zarr"


def _copy2(vg: Any, folder: Path) -> Path:
    ba.copy(vg, folder / "copy2.zarr", options=ba.CopyOptions(zarr_format=2))
    return folder / "copy2.zarr"


WRITERS: Mapping[str, Callable[[Any, Path], Path]] = {
    "JSON": _json,
    "JSON, version 3, consolidated": _json3,
    "Parquet": _parquet,
    "Icechunk": _icechunk,
    "copy, version 3": _copy,
    "copy, version 2": _copy2,
}
