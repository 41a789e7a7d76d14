"""The conformance kit on files of all scanners: faults at every ask, truncation, hostile sizes, the report."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from fixtures.hdf4.make_hdf4 import images, old_file, small, tables
from fixtures.hdf5.make_structure import WRITERS
from tests.places import FIXTURES

from byteatlas.scanning.plugins import installed
from byteatlas.testing import Case, assert_conforms
from byteatlas.testing.checks import CHECKS


def all_indexes(folder: Path) -> Path:
    path = folder / "indexes.h5"
    with h5py.File(path, "w", libver="latest") as file:
        values = np.arange(600, dtype="<i4").reshape(30, 20)
        for name, most in {"fixed": (30, 20), "extensible": (None, 20), "tree": (None, None)}.items():
            file.create_dataset(name, data=values, chunks=(4, 5), maxshape=most, compression="gzip")
        file.create_dataset("small", data=np.arange(5), chunks=(5,))
        file["text"] = np.array(["a", "bb"], dtype=object)
    return path


def raw_elsewhere(folder: Path) -> Path:
    """Raw data in two other files, one of which ends in the middle of a row."""
    (folder / "one.raw").write_bytes(np.arange(7, dtype="<i4").tobytes())
    (folder / "two.raw").write_bytes(np.arange(7, 12, dtype="<i4").tobytes())
    path = folder / "external.h5"
    with h5py.File(path, "w") as file:
        parts = [("one.raw", 0, 28), ("two.raw", 0, 20)]
        file.create_dataset("rows", (3, 4), "<i4", external=parts)
        file.create_dataset("absent", (3,), "<i4", external=[("none.raw", 0, 12)])
    return path


def many_attributes(folder: Path) -> Path:
    path = folder / "attributes.h5"
    with h5py.File(path, "w", libver="latest") as file:
        file["d"] = np.arange(3)
        for name in ("d", "/"):
            for k in range(20):
                file[name].attrs[f"a{k}"] = f"text {k}"
    return path


def netcdf4(folder: Path) -> Path:
    netcdf = pytest.importorskip("netCDF4")
    path = folder / "small.nc"
    with netcdf.Dataset(path, "w") as file:
        for name, n in (("time", None), ("lat", 3)):
            file.createDimension(name, n)
            file.createVariable(name, "f8", (name,)).units = name
        made = file.createVariable("air", "f4", ("time", "lat"), zlib=True)
        made[:] = np.arange(12).reshape(4, 3)
        made.long_name = "air"
    return path


DMRPP = """<?xml version="1.0" encoding="ISO-8859-1"?>
<Dataset xmlns="http://xml.opendap.org/ns/DAP/4.0#" xmlns:dmrpp="http://xml.opendap.org/dap/dmrpp/1.0.0#" name="a">
<Dimension name="x" size="6"/>
<Int32 name="v"><Dim name="/x"/><Attribute name="units" type="String"><Value>m</Value></Attribute>
<dmrpp:chunks byteOrder="LE"><dmrpp:chunkDimensionSizes>3</dmrpp:chunkDimensionSizes>
<dmrpp:chunk offset="0" nBytes="12" chunkPositionInArray="[0]"/>
<dmrpp:chunk offset="12" nBytes="12" chunkPositionInArray="[3]"/></dmrpp:chunks></Int32>
<Group name="g"><UInt8 name="c"><Dim size="3"/><dmrpp:chunks/><dmrpp:compact>AQID</dmrpp:compact></UInt8></Group>
</Dataset>"""


def dmrpp(folder: Path) -> Path:
    (folder / "beside.h5").write_bytes(np.arange(6, dtype="<i4").tobytes())
    path = folder / "beside.h5.dmrpp"
    path.write_text(DMRPP, encoding="latin-1")
    return path


def dmrpp_alone(folder: Path) -> Path:
    """The data file is not there."""
    path = folder / "gone.h5.dmrpp"
    path.write_text(DMRPP, encoding="latin-1")
    return path


def tarred(folder: Path) -> Path:
    path = folder / "all.tar"
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as archive:
        for name in ("netcdf3/cdf1.nc", "tiff/geotiff.tif"):
            archive.add(FIXTURES / name, arcname=f"{'long' * 40}/{name}")
    return path


def zipped(folder: Path) -> Path:
    path = folder / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(FIXTURES / "netcdf3" / "cdf1.nc", "stored.nc")
        archive.write(FIXTURES / "tiff" / "geotiff.tif", "below/deflated.tif", zipfile.ZIP_DEFLATED)
        archive.writestr("README", "no format")
    return path


def gzipped(folder: Path) -> Path:
    path = folder / "cdf1.nc.gz"
    path.write_bytes(gzip.compress((FIXTURES / "netcdf3" / "cdf1.nc").read_bytes()))
    return path


MADE: dict[str, tuple[str, Callable[[Path], Path]]] = {
    **{name: ("hdf5", WRITERS[name]) for name in ("links", "virtual", "dimensions", "phony")},
    **{make.__name__: ("hdf5", make) for make in (all_indexes, raw_elsewhere, many_attributes, netcdf4)},
    **{make.__name__: ("dmrpp", make) for make in (dmrpp, dmrpp_alone)},
    **{make.__name__: (kind, make) for kind, make in (("tar", tarred), ("zip", zipped), ("gzip", gzipped))},
    **{f"hdf4 {make.__name__}": ("hdf4", make) for make in (small, tables, images, old_file)},
}
STORED: dict[str, tuple[str, Path]] = {
    path.name: (kind, path)
    for kind, pattern in (
        ("hdf5", "*.h5"),
        ("netcdf3", "*.nc"),
        ("tiff", "*.tif"),
        ("grib", "gfs.grib2"),
        ("grib", "era.grib1"),
        ("fits", "*.fits"),
    )
    for path in sorted((FIXTURES / kind).glob(pattern))
}


def test_there_are_twenty_files_of_all_scanners() -> None:
    assert len(MADE) + len(STORED) >= 20
    assert {kind for kind, _ in (*MADE.values(), *STORED.values())} == set(installed())


@pytest.mark.parametrize("name", [*MADE, *STORED])
def test_scanners_keep_the_contract(name: str, tmp_path: Path) -> None:
    if name in MADE:
        kind, make = MADE[name]
        path = make(tmp_path)
    else:
        kind, path = STORED[name]
    assert_conforms(Case.of(installed()[kind], path), CHECKS)
