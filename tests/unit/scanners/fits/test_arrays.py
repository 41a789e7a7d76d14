"""FITS images, tables and groups: values, types, axes, attributes, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fixtures.fits.make_fits import FILES, random_groups, tables
from fixtures.fits.raw_fits import image, primary, table, unit
from tests.places import FIXTURES
from tests.scanning import scan_bytes

import byteatlas as ba
from byteatlas.errors import CorruptChunk
from byteatlas.manifest.model import ReportItem, VirtualGroup
from byteatlas.scanning.contract import ScanOptions
from byteatlas.verifying.compare import first_difference
from byteatlas_scanners.fits import SCANNER

UNPACK = {"fits": {"unpack_columns": True}}


@pytest.fixture
def read(tmp_path: Path) -> Any:
    """Scan and open the bytes of a file."""

    def reader(data: bytes, **options: Any) -> Any:
        path = tmp_path / "a.fits"
        path.write_bytes(data)
        virtual = ba.scan(str(path), on_refusal="ignore", options=ScanOptions(**options))
        return ba.open(virtual)

    return reader


def refused(group: VirtualGroup) -> list[ReportItem]:
    return [item for item in group.report if item.status == "refused"]


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "i8", "f4", "f8"])
def test_every_type_of_pixel(read: Any, kind: str) -> None:
    values = np.arange(60).reshape(3, 4, 5).astype(kind)
    root = read(image(values, primary=True), target_chunk=40)
    assert root["data"].dtype == np.dtype(kind)
    np.testing.assert_array_equal(root["data"][...], values)
    np.testing.assert_array_equal(root["data"][1:, 2, ::-2], values[1:, 2, ::-2])


@pytest.mark.parametrize(
    ("kind", "zero", "wanted"), [("i2", 2**15, "u2"), ("i4", 2**31, "u4"), ("i8", 2**63, "u8"), ("u1", -128, "i1")]
)
def test_integers_of_the_other_sign_are_exact(read: Any, kind: str, zero: int, wanted: str) -> None:
    limits = np.iinfo(kind)
    values = np.array([limits.min, limits.min + 1, 0, limits.max], kind)
    array = read(image(values, primary=True, BZERO=zero, BSCALE=1))["data"]
    assert array.dtype == np.dtype(wanted)
    assert array[...].tolist() == [int(v) + zero for v in values.tolist()]
    assert dict(array.attrs) == {}


def test_other_offsets_are_attributes(read: Any) -> None:
    attributes = dict(read(image(np.array([1, 2], "i2"), primary=True, BZERO=100, BSCALE=0.5, BLANK=2))["data"].attrs)
    assert attributes == {"scale_factor": 0.5, "add_offset": 100.0, "_FillValue": 2}
    assert "_FillValue" not in read(image(np.array([1, 2], "i2"), primary=True, BLANK=99999))["data"].attrs


def test_blank_moves_with_the_sign(read: Any) -> None:
    array = read(image(np.array([-32768, 5], "i2"), primary=True, BZERO=32768, BLANK=-32768))["data"]
    assert array.attrs["_FillValue"] == 0


def test_axes_without_length(read: Any) -> None:
    assert read(image(np.zeros((0, 3), "i2"), primary=True))["data"][...].shape == (0, 3)
    assert read(primary() + table(b"", 4, [("A", "J")]))["hdu_1/A"][...].shape == (0,)
    wide = read(primary() + unit({"XTENSION": "BINTABLE", "BITPIX": 8, "NAXIS": 2, "NAXIS1": 0, "NAXIS2": 3,
                                  "PCOUNT": 0, "GCOUNT": 1, "TFIELDS": 1, "TFORM1": "0J"}))  # fmt: skip
    assert wide["hdu_1/column_1"][...].shape == (3, 0)


# --------------------------------------------------------------------------------------- axes


LINEAR: dict[str, Any] = {
    "CTYPE1": "FREQ",
    "CRPIX1": 2.0,
    "CRVAL1": 10.0,
    "CDELT1": 0.5,
    "CUNIT1": "Hz",
    "CRPIX2": 1,
    "CRVAL2": 0,
    "CDELT2": 3,
}


def test_linear_axes_have_coordinates(read: Any) -> None:
    root = read(image(np.zeros((2, 3), "i2"), primary=True, **LINEAR))
    assert root["freq"][...].tolist() == [9.5, 10.0, 10.5]
    assert dict(root["freq"].attrs) == {"units": "Hz", "long_name": "FREQ"}
    assert root["y"][...].tolist() == [0, 3]


@pytest.mark.parametrize(
    "turned",
    [{"PC1_2": 0.5}, {"CD2_1": 0.1}, {"CROTA1": 30.0, "CROTA2": 30.0}, {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN"}],
)
def test_other_axes_have_none(read: Any, turned: dict[str, Any]) -> None:
    root = read(image(np.zeros((2, 3), "i2"), primary=True, **{**LINEAR, **turned}))
    assert list(root) == ["data"]


def test_xarray_opens_images_and_tables(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    path = tmp_path / "a.fits"
    path.write_bytes(
        image(np.array([[1, 2, -9]], "i2"), primary=True, BLANK=-9, BSCALE=2.0, **LINEAR) + tables()[2880:]
    )
    virtual = ba.scan(str(path))
    with xarray.open_dataset(virtual, engine="byteatlas", group="PRIMARY") as found:
        assert found["data"].dims == ("y", "freq")
        np.testing.assert_array_equal(found["data"].values, [[2, 4, np.nan]])
        assert found["freq"].values.tolist() == [9.5, 10.0, 10.5]
    with xarray.open_dataset(virtual, engine="byteatlas", group="TYPES") as found:
        assert found["D"].dims == ("row", "D_1", "D_2")
        assert found["B"].values.tolist() == [3, 5, 7, 9]
        assert found["U"].values.tolist() == [32769, 32770, 32771, 32772]


# --------------------------------------------------------------------------------------- tables


def test_every_type_of_column(read: Any) -> None:
    types = read(tables())["TYPES"]
    assert types["J"][...].tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert types["A"][...].tolist() == [b"a", b"bb ", b"", b"ccccc"]
    assert types["D"].shape == (4, 3, 2)
    assert types["C"][...].tolist() == [1, 2, 3, 4]
    assert types["L"][...].tolist()[3] == [0, ord("F")]
    assert types["X"].shape == (4, 2)
    assert types["U"][...].tolist() == [1, 2, 3, 4]
    assert dict(types["U"].attrs) == {"scale_factor": 1.0, "add_offset": 32768.0}
    assert dict(types["B"].attrs) == {"scale_factor": 2.0, "add_offset": 1.0}
    assert types["E"].attrs["units"] == "mag"
    assert types["I"].attrs["_FillValue"] == 2


def test_columns_unpacked_on_request(read: Any) -> None:
    types = read(tables(), extra=UNPACK)["TYPES"]
    assert types["L"][...].tolist() == [[True, False], [False, True], [True, True], [False, False]]
    assert types["X"].shape == (4, 11)
    assert np.flatnonzero(types["X"][0]).tolist() == [0, 10]
    assert types["U"].dtype == np.uint16
    assert types["U"][...].tolist() == [32769, 32770, 32771, 32772]


def test_64_bits_are_unsigned_always(read: Any) -> None:
    rows = np.array([-(2**63), 5], ">i8").tobytes()
    array = read(primary() + table(rows, 8, [("K", "K")], TZERO1=2**63))["hdu_1/K"]
    assert array[...].tolist() == [0, 2**63 + 5]


def test_the_heap(read: Any) -> None:
    heap = read(tables())["HEAP"]
    assert [row.tolist() for row in heap["NUMBERS"][...]] == [[7, -7], []]
    assert heap["TEXT"][...].tolist() == [b"abc", b"d"]


@pytest.mark.parametrize(
    ("code", "stored", "wanted"),
    [
        ("L", b"TF\0", [True, False, False]),
        ("X", b"\xa0", [160]),
        ("C", np.array([1 + 2j], ">c8").tobytes(), [1 + 2j]),
    ],
)
def test_other_elements_in_the_heap(read: Any, code: str, stored: bytes, wanted: list[Any]) -> None:
    count = {"L": 3, "X": 3, "C": 1}[code]
    wide = np.array([[count, 4]], ">i8").tobytes()
    data = primary() + table(wide, 16, [("V", f"Q{code}({count})")], heap=b"gap!" + stored, THEAP=16)
    assert read(data)["hdu_1/V"][0].tolist() == wanted
    behind = table(wide, 16, [("V", f"Q{code}")], heap=b"12345678gap!" + stored, THEAP=24)
    assert read(primary() + behind)["hdu_1/V"][0].tolist() == wanted


def test_descriptors_that_lead_out_of_the_heap(read: Any) -> None:
    for pair in ([2, 4], [-1, 0], [1, -4], [2**31 - 1, 0]):
        bad = table(np.array([pair], ">i4").tobytes(), 8, [("V", "PJ")], heap=bytes(8))
        with pytest.raises(CorruptChunk, match="heap"):
            read(primary() + bad)["hdu_1/V"][...]


@pytest.mark.parametrize(
    ("form", "text", "value"),
    [
        ("I4", "  -7", -7),
        ("I4", "    ", 0),
        ("F6.2", "  1.5 ", 1.5),
        ("F6.2", "   150", 1.5),
        ("E9.2", "  150E-01", 0.15),
        ("E9.2", "  1.5D+02", 150.0),
        ("D9.2", "  1.5+002", 150.0),
        ("D9.2", "  1.5d2  ", 150.0),
        ("F6.2", "   .5 ", 0.5),
        ("F6.2", "    5.", 5.0),
        ("E6.0", "   -12", -12.0),
    ],
)
def test_numbers_as_text(read: Any, form: str, text: str, value: float) -> None:
    lines = f"ab{text}z".encode() * 2
    data = primary() + table(lines, len(text) + 3, [("V", form), ("A", "A2")], kind="TABLE", TBCOL1=3, TBCOL2=1)
    assert read(data)["hdu_1/V"][...].tolist() == [value] * 2
    assert read(data)["hdu_1/A"][...].tolist() == [b"ab"] * 2


def test_text_without_a_value(read: Any) -> None:
    lines = b"  1.0 N/A 2.0e1    "
    cards: dict[str, Any] = {"TBCOL1": 1, "TNULL1": "N/A"}
    data = primary() + table(lines[:15], 5, [("V", "F5.1")], kind="TABLE", **cards)
    np.testing.assert_array_equal(read(data)["hdu_1/V"][...], [1.0, np.nan, 20.0])
    blank = primary() + table(b"     ", 5, [("V", "E5.1")], kind="TABLE", TBCOL1=1)
    assert np.isnan(read(blank)["hdu_1/V"][0])


@pytest.mark.parametrize("text", [b"  abc", b"1 2 3", b"1.2.3", b"nan  ", b"0x10 "])
def test_text_that_is_no_number(read: Any, text: bytes) -> None:
    for form in ("F5.1", "I5"):
        data = primary() + table(text, 5, [("V", form)], kind="TABLE", TBCOL1=1)
        with pytest.raises(CorruptChunk):
            read(data)["hdu_1/V"][...]


def test_names_of_columns() -> None:
    columns = [("A", "J"), ("A", "J"), ("", "J"), ("B/C", "J")]
    group = scan_bytes(SCANNER, primary() + table(bytes(16), 16, columns))
    assert list(group.groups["hdu_1"].arrays) == ["A", "column_2", "column_3", "column_4"]
    assert [i.locators[0] for i in group.report] == ["hdu/1/A", "hdu/1/column_2", "hdu/1/column_3", "hdu/1/B/C"]


def test_tables_that_make_no_sense_are_refused() -> None:
    short = table(bytes(12), 12, [("A", "J")])
    odd = table(bytes(4), 4, [("A", "7Z")])
    outside = table(b"12345", 5, [("V", "I6")], kind="TABLE", TBCOL1=1)
    compressed = table(bytes(8), 8, [("A", "1PB(0)")], ZTABLE=True)
    group = scan_bytes(SCANNER, primary() + short + odd + outside + compressed)
    assert [item.reason for item in refused(group)] == ["corrupt", "corrupt", "corrupt", "compression"]


def test_rows_share_chunks() -> None:
    rows = np.arange(1000, dtype=">i4").tobytes()
    group = scan_bytes(SCANNER, primary() + table(rows, 8, [("A", "J"), ("B", "J")]), ScanOptions(target_chunk=800))
    a, b = (group.groups["hdu_1"].arrays[n] for n in "AB")
    assert a.manifest == b.manifest
    assert a.manifest.grid_shape == (5,)


# --------------------------------------------------------------------------------------- random groups


def test_random_groups(read: Any) -> None:
    root = read(random_groups())
    assert root["data"][...].tolist()[1] == [[8, 9], [10, 11]]
    assert root["U"][...].tolist() == [0, 6, 12]
    assert root["U_2"][...].tolist() == [1, 7, 13]
    assert dict(root["U_2"].attrs) == {"scale_factor": 2.0, "add_offset": 1.0}


@pytest.mark.parametrize("name", FILES)
def test_stored_fixtures_are_what_the_script_writes(name: str) -> None:
    if name != "tiles.fits":  # made by a library
        assert (FIXTURES / "fits" / name).read_bytes() == FILES[name]()
    assert not refused(scan_bytes(SCANNER, (FIXTURES / "fits" / name).read_bytes()))


@pytest.mark.parametrize("name", FILES)
def test_maps_keep_the_values(tmp_path: Path, name: str) -> None:
    virtual = ba.scan(str(FIXTURES / "fits" / name))
    plain: Any = ba.open(virtual)
    for target in (tmp_path / "a.json", tmp_path / "a.parquet"):
        ba.write(virtual, str(target))
        again: Any = ba.open(str(target))
        for item in virtual.report:
            assert first_difference(again[item.path][...], plain[item.path][...]) is None
