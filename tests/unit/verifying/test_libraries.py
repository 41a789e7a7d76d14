"""The formats' own libraries: which arrays they have, their values, and what they cannot give."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.fits.raw_fits import groups, image, primary, table
from fixtures.hdf4.make_hdf4 import tables
from fixtures.tiff.raw_tiff import Raw, gray, write
from tests.places import FIXTURES

import byteatlas as ba
from byteatlas.errors import MissingExtra
from byteatlas.io.local import LocalSource
from byteatlas.io.sources.memory import MemorySource
from byteatlas.verifying.native import hdf5 as by_h5py
from byteatlas.verifying.native.contract import NativeArray, Stacked
from byteatlas.verifying.native.fits import open_fits
from byteatlas.verifying.native.grib import GribArray, open_grib
from byteatlas.verifying.native.hdf4 import SdsArray, VdataArray, open_hdf4
from byteatlas.verifying.native.hdf5 import Hdf5Array, hdf5_attributes, open_hdf5
from byteatlas.verifying.native.netcdf3 import open_netcdf3
from byteatlas.verifying.native.tiff import open_tiff


@pytest.mark.parametrize(
    ("fixture", "equal", "unchecked", "values"),
    [
        ("fits/tables.fits", 18, 1, 88),
        ("fits/tiles.fits", 9, 0, 5400),
        ("fits/groups.fits", 1, 2, 12),
        ("grib/era.grib1", 3, 13, 810),
        ("grib/gfs.grib2", 7, 24, 4050),
        ("grib/hrrr.grib2", 2, 10, 588),
        ("grib/ifs.grib2", 1, 8, 36684),
        ("grib/packings.grib", 26, 12, 12896),
    ],
)
def test_how_much_of_a_file_is_compared(fixture: str, equal: int, unchecked: int, values: int) -> None:
    """Coordinates that the file has no array of have nothing to be compared with."""
    found = ba.verify(FIXTURES / fixture)
    assert found.counts == {"equal": equal, "unchecked": unchecked} if unchecked else {"equal": equal}
    assert found.values == values
    assert found.ok


# --------------------------------------------------------------------------------------- FITS


@contextmanager
def fits(tmp_path: Path, data: bytes) -> Iterator[Any]:
    (tmp_path / "a.fits").write_bytes(data)
    with open_fits(LocalSource(str(tmp_path / "a.fits"))) as file:
        yield file


def test_fits_images_as_stored_and_unsigned(tmp_path: Path) -> None:
    stored = np.array([[-32768, 5, 7]], "i2")
    data = image(stored, primary=True, BZERO=32768) + image(stored, BSCALE=0.5) + primary()[:0]
    with fits(tmp_path, data) as file:
        unsigned, scaled = file.array("a", ("hdu/0",)), file.array("b", ("hdu/1",))
        assert unsigned.read(()).tolist() == [[0, 32773, 32775]]
        assert unsigned.read((slice(0, 1), slice(1, 2))).tolist() == [[32773]]
        assert scaled.read(()).tolist() == stored.tolist()
        assert (unsigned.shape, unsigned.attributes, unsigned.dims) == ((1, 3), None, None)
        for locators in [(), ("hdu/2",), ("page/0",), ("hdu",), ("hdu/0", "hdu/1")]:
            assert file.array("a", locators) is None
        assert file.names() == []


def test_fits_unit_without_data(tmp_path: Path) -> None:
    with fits(tmp_path, primary() + table(b"", 4, [("A", "J")])) as file:
        assert file.array("a", ("hdu/0",)) is None
        found = file.array("A", ("hdu/1/A",))
        assert found is None or found.shape == (0,)
        assert file.array("B", ("hdu/1/B",)) is None


def test_fits_columns_of_two_names_and_of_none(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=">i4").tobytes()
    double = table(rows, 12, [("A", "J"), ("A", "J"), ("B", "J")])
    with fits(tmp_path, primary() + double) as file:
        assert file.array("A", ("hdu/1/A",)) is None
    with fits(tmp_path, primary() + table(rows, 12, [("A", "J"), ("", "J"), ("B", "J")])) as file:
        assert file.array("B", ("hdu/1/B",)) is None


def test_fits_integers_of_64_bits(tmp_path: Path) -> None:
    """As unsigned numbers where the offset says so; smaller ones as they are stored."""
    rows = np.array([-(2**63), -1], ">i8").tobytes()
    wide = table(rows, 8, [("A", "K")], TZERO1=2**63)
    with fits(tmp_path, primary() + wide) as file:
        found = file.array("A", ("hdu/1/A",)).read(())
        assert found.tolist() == [0, 2**63 - 1]
    with fits(tmp_path, primary() + table(rows, 8, [("A", "K")])) as file:
        assert file.array("A", ("hdu/1/A",)).read(()).tolist() == [-(2**63), -1]
    small = table(np.array([-5, 7], ">i4").tobytes(), 4, [("A", "J")], TZERO1=2**31)
    with fits(tmp_path, primary() + small) as file:
        assert file.array("A", ("hdu/1/A",)).read(()).tolist() == [-5, 7]


def test_fits_tables_of_text(tmp_path: Path) -> None:
    """Numbers with an implied decimal point, or scaled, are read in another way by astropy: there is none then."""
    columns = [("I", "I4"), ("F", "F6.2"), ("S", "I3"), ("A", "A2")]
    places: dict[str, Any] = {"TBCOL1": 1, "TBCOL2": 5, "TBCOL3": 11, "TBCOL4": 14}
    rows = b"  12  1.50  7ab" + b"  -3 22.25  8cd"
    plain = table(rows, 15, columns, kind="TABLE", **places, TSCAL3=2.0)
    with fits(tmp_path, primary() + plain) as file:
        assert file.array("I", ("hdu/1/I",)).read(()).tolist() == [12, -3]
        assert file.array("F", ("hdu/1/F",)).read(()).tolist() == [1.5, 22.25]
        assert file.array("S", ("hdu/1/S",)) is None
        assert file.array("A", ("hdu/1/A",)).read(()).tolist() == [b"ab", b"cd"]
    shifted = table(rows, 15, columns, kind="TABLE", **places, TZERO3=2.0)
    with fits(tmp_path, primary() + shifted) as file:
        assert file.array("S", ("hdu/1/S",)) is None
    implied = table(rows.replace(b"1.50", b" 150"), 15, columns, kind="TABLE", **places)
    with fits(tmp_path, primary() + implied) as file:
        assert file.array("F", ("hdu/1/F",)) is None
        assert file.array("S", ("hdu/1/S",)).read(()).tolist() == [7, 8]
    blank = table(rows.replace(b"  1.50", b"      "), 15, columns, kind="TABLE", **places)
    with fits(tmp_path, primary() + blank) as file:
        np.testing.assert_array_equal(file.array("F", ("hdu/1/F",)).read(()), [np.nan, 22.25])


def test_fits_arrays_of_the_heap(tmp_path: Path) -> None:
    rows = np.array([[2, 0], [0, 4], [1, 4]], ">i4").tobytes()
    heap = np.array([1, 2, 3], ">i2").tobytes()
    for form, wanted in {"1PI(2)": [[1, 2], [], [3]], "PI(2)": [[1, 2], [], [3]]}.items():
        with fits(tmp_path, primary() + table(rows, 8, [("V", form)], heap=heap)) as file:
            assert [v.tolist() for v in file.array("V", ("hdu/1/V",)).read(())] == wanted
    wide = np.array([[2, 0], [1, 4]], ">i8").tobytes()
    with fits(tmp_path, primary() + table(wide, 16, [("V", "1QI(2)")], heap=heap)) as file:
        assert [v.tolist() for v in file.array("V", ("hdu/1/V",)).read(())] == [[1, 2], [3]]
    text = np.array([[2, 0], [3, 2]], ">i4").tobytes()
    with fits(tmp_path, primary() + table(text, 8, [("V", "1PA(3)")], heap=b"abcde")) as file:
        assert file.array("V", ("hdu/1/V",)).read(()).tolist() == [b"ab", b"cde"]


def test_fits_random_groups(tmp_path: Path) -> None:
    records = np.arange(10, dtype="f4").reshape(2, 5)
    names = {"PTYPE1": "U", "PTYPE2": "V"}
    with fits(tmp_path, groups(records, (3,), 2, **names)) as file:
        assert file.array("U", ("hdu/0/U",)).read(()).tolist() == [0, 5]
        assert file.array("V", ("hdu/0/V",)).read(()).tolist() == [1, 6]
        assert file.array("data", ("hdu/0/data",)).read(()).tolist() == [[2, 3, 4], [7, 8, 9]]
        assert file.array("W", ("hdu/0/W",)) is None
    with fits(tmp_path, groups(records, (3,), 2, PTYPE1="U", PTYPE2="U")) as file:
        assert file.array("U", ("hdu/0/U",)) is None


# --------------------------------------------------------------------------------------- GRIB


def test_grib_fields_of_messages(tmp_path: Path) -> None:
    path = FIXTURES / "grib" / "gfs.grib2"
    group = ba.scan(path)
    cube = next(i for i in group.report if i.path.endswith("/u") and i.locators)
    ours = np.asarray(ba.open(group)[cube.path][...])
    local, far = LocalSource(str(path)), MemorySource(path.read_bytes(), "memory://gfs")
    for source in (local, far):
        with open_grib(source) as file:
            found = file.array(cube.path, cube.locators)
            assert isinstance(found, Stacked)
            assert (found.attributes, found.dims, file.names()) == (None, None, [])
            assert found.shape == (len(cube.locators), 162)
            shaped = found.shaped(ours.shape)
            assert shaped.shape == ours.shape
            np.testing.assert_array_equal(shaped.read(()), ours)
            part = (*(slice(0, 1) for _ in ours.shape[:-1]), slice(3, 7))
            np.testing.assert_array_equal(shaped.read(part), ours[part])
            assert found.shaped((5, 5)) is found  # another number of values


def test_grib_fields_that_are_not_there_are_no_data() -> None:
    path = FIXTURES / "grib" / "era.grib1"
    first = next(i for i in ba.scan(path).report if len(i.locators) > 1)
    with open_grib(LocalSource(str(path))) as opened:
        found = opened.array("x", (first.locators[0], "", first.locators[1]))
        assert isinstance(found, GribArray)
        assert found.shape == (3, 162)
        values = found.read(())
        assert np.isnan(values[1]).all()
        assert np.isfinite(values[[0, 2]]).all()
        shaped = found.shaped((3, 1, 9, 18))
        wanted = values.reshape(3, 1, 9, 18)
        np.testing.assert_array_equal(shaped.read(()), wanted)
        np.testing.assert_array_equal(shaped.read((slice(2, 3), slice(None), slice(4, 5))), wanted[2:, :, 4:5])
        gap = opened.array("x", ("", first.locators[1]))
        assert gap is not None
        assert gap.shape == (2, 162)
        np.testing.assert_array_equal(gap.read((slice(1, 2),)), values[2:])


def test_grib_bitmaps_are_no_data(tmp_path: Path) -> None:
    eccodes = pytest.importorskip("eccodes")
    from fixtures.grib.make_forecasts import LATLON, field, message

    values = field(1)
    values[5] = np.nan
    (tmp_path / "a.grib").write_bytes(message("regular_ll_sfc_grib2", values, LATLON))
    assert eccodes is not None
    with open_grib(LocalSource(str(tmp_path / "a.grib"))) as file:
        found = file.array("x", ("off/0",))
        assert found is not None
        assert np.flatnonzero(np.isnan(found.read(()))).tolist() == [5]
    assert ba.verify(tmp_path / "a.grib").counts["equal"] == 1


def test_a_grib_message_that_cannot_be_decoded(tmp_path: Path) -> None:
    """It is found, and its template is one that nobody knows."""
    pytest.importorskip("eccodes")
    data = bytearray((FIXTURES / "grib" / "gfs.grib2").read_bytes())
    size = int.from_bytes(data[8:16], "big")
    at = 16
    while data[at + 4] != 5:  # the section of the data's representation
        at += int.from_bytes(data[at : at + 4], "big")
    data[at + 9 : at + 11] = (60000).to_bytes(2, "big")
    (tmp_path / "a.grib2").write_bytes(data[:size])
    with open_grib(LocalSource(str(tmp_path / "a.grib2"))) as file:
        found = file.array("x", ("off/0",))
        assert found is not None
        with pytest.raises(ValueError, match=r"^ecCodes: "):
            found.read(())


# --------------------------------------------------------------------------------------- HDF4


class Failing:
    """A table and a dataset that the library opens and cannot read."""

    def fieldinfo(self) -> list[tuple[str, int, int]]:
        return [("a", 24, 1)]

    def inquire(self) -> tuple[int]:
        return (1,)

    def seek(self, row: int) -> None:
        from pyhdf.error import HDF4Error

        raise HDF4Error("seek: bad table")

    def info(self) -> tuple[str, int, int, int, int]:
        return ("a", 1, 2, 24, 0)

    def get(self) -> None:
        from pyhdf.error import HDF4Error

        raise HDF4Error("get: bad dataset")


@pytest.mark.parametrize(("kind", "words"), [(VdataArray, "seek: bad table"), (SdsArray, "get: bad dataset")])
def test_what_the_hdf4_library_opens_and_cannot_read(kind: Any, words: str) -> None:
    pytest.importorskip("pyhdf")
    with pytest.raises(OSError, match=f"^{words}$"):
        kind(Failing()).read(())


def test_hdf4_places(tmp_path: Path) -> None:
    pytest.importorskip("pyhdf")
    path = tables(tmp_path)
    numbers = [i for i in ba.scan(path).report if i.locators and i.locators[0].startswith("vdata/")]
    with open_hdf4(LocalSource(str(path))) as near, open_hdf4(MemorySource(path.read_bytes(), "memory://t")) as far:
        for file in (near, far):
            assert file.names() == []
            for locators in [(), ("sds/x",), ("vdata/",), ("other/1",), ("vdata/2", "vdata/3"), ("sds/99",)]:
                assert file.array("x", locators) is None
        compared = 0
        for item in numbers:
            one, two = near.array(item.path, item.locators), far.array(item.path, item.locators)
            if one is None or two is None:
                continue
            compared += 1
            assert one.shape == one.read(()).shape
            assert (one.attributes, one.dims) == (None, None)
            np.testing.assert_array_equal(one.read(()), two.read(()))
            np.testing.assert_array_equal(one.read((slice(1, 2),)), one.read(())[1:2])
        assert compared > 2


# --------------------------------------------------------------------------------------- HDF5


def test_hdf5_filters_that_nobody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(8), chunks=(8,), compression="gzip")
    with open_hdf5(LocalSource(str(tmp_path / "a.h5"))) as opened:
        found = opened.array("x", ())
        assert found is not None
        monkeypatch.setattr(h5py.h5z, "filter_avail", lambda number: False)
        assert found.read(()).tolist() == list(range(8))  # others' filters are there; the library says so by itself
        monkeypatch.setattr(by_h5py, "_register_filters", lambda: False)
        with pytest.raises(MissingExtra, match=r"comparing /x \(HDF5 filter 1\)"):
            found.read(())
    monkeypatch.undo()


def test_hdf5_without_the_filters_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    assert by_h5py._register_filters()
    monkeypatch.setitem(sys.modules, "hdf5plugin", None)
    assert not by_h5py._register_filters()


def test_hdf5_selections_of_elements_that_are_arrays(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        made = file.create_dataset("x", (4,), np.dtype(("f4", (2, 3))))
        made[:] = np.arange(24).reshape(4, 2, 3)
        file.create_group("g")
        file["x"].attrs["e"] = h5py.Empty("f4")
        file["x"].attrs["ok"] = 3
    with open_hdf5(LocalSource(str(tmp_path / "a.h5"))) as opened:
        found = opened.array("x", ())
        assert isinstance(found, Hdf5Array)
        assert found.shape == (4, 2, 3)
        assert found.read((slice(1, 3), slice(0, 1), slice(1, 3))).tolist() == [[[7, 8]], [[13, 14]]]
        assert opened.array("g", ()) is None
        assert opened.array("none", ()) is None
        assert opened.names() == ["x"]
        assert hdf5_attributes(found.dataset) == {"ok": 3}


def test_hdf5_attributes_that_the_library_cannot_read() -> None:
    class Attributes(dict[str, Any]):
        def __getitem__(self, name: str) -> Any:
            if name == "bad":
                raise OSError("no")
            return super().__getitem__(name)

    class Node:
        attrs = Attributes({"bad": 1, "good": 2, "CLASS": b"x", "object": None})

    assert hdf5_attributes(Node()) == {"good": 2}


def test_hdf5_names_of_dimensions_without_values(tmp_path: Path) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "a.nc", "w") as file:
        file.createDimension("bare", 3)
        file.createDimension("y", 2)
        file.createVariable("y", "f8", ("y",))[:] = [1, 2]
        file.createVariable("v", "f8", ("y", "bare"))[:] = 0
    with open_hdf5(LocalSource(str(tmp_path / "a.nc"))) as opened:
        assert sorted(opened.names()) == ["v", "y"]
        v, y = opened.array("v", ()), opened.array("y", ())
        assert v is not None
        assert y is not None
        assert (v.dims, y.dims) == (("y", "bare"), ("y",))


# --------------------------------------------------------------------------------------- TIFF, netCDF-3


def test_tiff_pages(tmp_path: Path) -> None:
    pytest.importorskip("tifffile")
    pages = [bytes(range(12)), bytes(range(12, 24)), bytes(range(24, 36))]
    (tmp_path / "a.tif").write_bytes(write([Raw(gray(4, 3), [page]) for page in pages]))
    with open_tiff(LocalSource(str(tmp_path / "a.tif"))) as file:
        one, two = file.array("x", ("page/1",)), file.array("x", ("page/2", "page/0"))
        assert one is not None
        assert two is not None
        assert (one.shape, one.attributes, one.dims) == ((3, 4), None, None)
        assert one.read((slice(1, 2), slice(2, 4))).tolist() == [[18, 19]]
        assert two.shape == (2, 3, 4)
        assert two.read((slice(0, 2), slice(0, 1), slice(0, 1))).tolist() == [[[24]], [[0]]]
        assert two.read((slice(1, 2), slice(0, 3), slice(3, 4))).tolist() == [[[3], [7], [11]]]
        for locators in [(), ("page/1", "off/3"), ("page",), ("page/0/sub",), ("hdu/0",), ("page/0/sub/0",)]:
            assert file.array("x", locators) is None
        assert file.names() == []


def test_netcdf3_names_and_values() -> None:
    pytest.importorskip("netCDF4")
    import netCDF4

    path = FIXTURES / "netcdf3" / "classic.nc"
    path = path if path.exists() else next(p for p in sorted(path.parent.glob("*.nc")) if p.stem != "streaming")
    with open_netcdf3(LocalSource(str(path))) as file, netCDF4.Dataset(path) as theirs:
        theirs.set_auto_maskandscale(False)
        assert sorted(file.names()) == sorted(theirs.variables)
        for name in file.names():
            found: NativeArray | None = file.array(name, ())
            assert found is not None
            assert found.shape == theirs[name].shape
            assert found.dims == theirs[name].dimensions
            assert set(found.attributes or ()) == set(theirs[name].ncattrs())
        assert file.array("nothing of this name", ()) is None
