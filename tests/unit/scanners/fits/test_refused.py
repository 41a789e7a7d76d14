"""FITS files with one wrong card, size or descriptor: what the report says, and what the whole file raises."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from fixtures.fits.raw_fits import axes, card, groups, image, primary, table, unit
from tests.scanning import refusals, refuses, scan_bytes

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.scanning.contract import ScanOptions
from byteatlas_scanners.fits import SCANNER, tables, tiles

SMALL = np.arange(6, dtype="i2").reshape(2, 3)
HEAD = 2880
"""Where the second unit begins, behind an empty first one; its data begin as many bytes further on."""


def scan(data: bytes) -> Callable[[], object]:
    return lambda: scan_bytes(SCANNER, data)


def first(**cards: Any) -> bytes:
    """A first unit of these cards; those with None are left out."""
    said = {"SIMPLE": True, "BITPIX": 8, "NAXIS": 0, **cards}
    return unit({key: value for key, value in said.items() if value is not None})


@refusals(
    (scan(b""), CorruptFile(0, "a file of 0 bytes is shorter than one block of FITS")),
    (scan(bytes(2879)), CorruptFile(0, "a file of 2879 bytes is shorter than one block of FITS")),
    (scan(bytes(2880)), CorruptFile(0, "a header without an END card")),
    (
        scan(first(SIMPLE=False)),
        Unsupported("layout", "SIMPLE is not T: the file does not conform to the FITS standard"),
    ),
    (scan(first(BITPIX=7)), CorruptFile(0, "BITPIX is 7, NAXIS is 0")),
    (scan(first(NAXIS=1000)), CorruptFile(0, "BITPIX is 8, NAXIS is 1000")),
    (scan(first(NAXIS=-1)), CorruptFile(0, "BITPIX is 8, NAXIS is -1")),
    (scan(first(BITPIX="8")), CorruptFile(0, "BITPIX is '8', not an integer")),
    (scan(first(NAXIS=True)), CorruptFile(0, "NAXIS is True, not an integer")),
    (scan(first(NAXIS=1)), CorruptFile(0, "NAXIS1 is None, not an integer")),
    (scan(first(NAXIS=2, NAXIS1=5, NAXIS2=-1)), CorruptFile(0, "axes of lengths [5, -1]")),
    (
        scan(first(NAXIS=1, NAXIS1=0, GROUPS=True, PCOUNT=-1, GCOUNT=1)),
        CorruptFile(0, "PCOUNT is -1, GCOUNT is 1"),
    ),
    (scan(first(NAXIS=1, NAXIS1=0, GROUPS=True, GCOUNT=1)), CorruptFile(0, "PCOUNT is None, not an integer")),
)
def test_first_units(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_a_first_unit_may_have_no_axes_or_999() -> None:
    assert (
        scan_bytes(SCANNER, first(NAXIS=999, **{f"NAXIS{i}": 0 for i in range(1, 1000)})).report[0].reason
        == "dataspace"
    )
    assert scan_bytes(SCANNER, first()).report == ()


# --------------------------------------------------------------------------------------- units of a sound file


def said(data: bytes, options: ScanOptions | None = None) -> list[tuple[str | None, str]]:
    """Reason and detail of all that is refused, of a file whose second unit is this."""
    group = scan_bytes(SCANNER, primary() + data, options)
    return [(item.reason, item.detail) for item in group.report if item.status == "refused"]


def bintable(rows: bytes = bytes(8), stride: int = 8, form: str = "K", **cards: Any) -> bytes:
    return table(rows, stride, [("a", form)], **cards)


def changed(data: bytes, **cards: Any) -> bytes:
    """The same unit with other values of some cards."""
    for key, value in cards.items():
        at = data.index(f"{key:<8}=".encode())
        data = data[:at] + card(key, value) + data[at + 80 :]
    return data


def at_head(why: str) -> tuple[str, str]:
    return "corrupt", f"byte {HEAD}: {why}"


def at_data(why: str) -> tuple[str, str]:
    return "corrupt", f"byte {2 * HEAD}: {why}"


NO_TABLE = ("layout", "a table that is no two-dimensional array of bytes")
MANY: dict[str, Any] = {f"NAXIS{i}": 1 for i in range(1, 66)}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (unit({"XTENSION": "IMAGE", "BITPIX": 8, "NAXIS": 65, **MANY}, b"a"),
         ("dataspace", "65 axes; at most 64 are possible")),
        (image(SMALL, PCOUNT=1), ("layout", "an image with parameters or groups")),
        (image(SMALL, GCOUNT=2), ("layout", "an image with parameters or groups")),
        (image(SMALL)[:-2880], at_data("its data end at byte 5772, the file at byte 5760")),
        (unit({"XTENSION": "DUMP", "BITPIX": 8, **axes((3,))}, b"abc"), ("layout", "an extension of type 'DUMP'")),
        (changed(bintable(), BITPIX=16), NO_TABLE),
        (unit({"XTENSION": "BINTABLE", "BITPIX": 8, **axes((8,))}, bytes(8)), NO_TABLE),
        (changed(bintable(), GCOUNT=2), NO_TABLE),
        (changed(bintable(), TFIELDS=1000), at_head("TFIELDS is 1000")),
        (changed(bintable(), TFIELDS=-1), at_head("TFIELDS is -1")),
        (bintable(form="Z"), at_head("TFORM1 is 'Z'")),
        (bintable(form=f"{(1 << 40) + 1}A"), at_head(f"TFORM1 is '{(1 << 40) + 1}A'")),
        (bintable(form="1" * 19 + "A"), at_head(f"TFORM1 is '{'1' * 19}A'")),
        (bintable(form="2PB"), at_head("TFORM1 is '2PB'")),
        (bintable(form="1PZ"), at_head("TFORM1 is '1PZ'")),
        (bintable(form="J"), at_head("columns of 4 bytes in rows of 8")),
        (bintable(form="9B"), at_head("columns of 9 bytes in rows of 8")),
        (bintable(ZTABLE=True), ("compression", "a tile-compressed table (funpack makes an ordinary one of it)")),
        (table(b"1234", 4, [("a", "Q4")], kind="TABLE", TBCOL1=1),
         at_head("TFORM1 is 'Q4'")),
        (table(b"1234", 4, [("a", "I4")], kind="TABLE", TBCOL1=0),
         at_head("column 1: 4 characters from 0 on in rows of 4")),
        (table(b"1234", 4, [("a", "I4")], kind="TABLE", TBCOL1=2),
         at_head("column 1: 4 characters from 2 on in rows of 4")),
        (table(b"1234", 4, [("a", "I0")], kind="TABLE", TBCOL1=1),
         at_head("column 1: 0 characters from 1 on in rows of 4")),
        (table(b"1234", 4, [("a", "I1234567890")], kind="TABLE", TBCOL1=1), at_head("TFORM1 is 'I1234567890'")),
        (bintable(form="1PB", THEAP=7), ("layout", "THEAP is 7, in a unit of 8 bytes with rows of 8")),
        (bintable(form="1PB", THEAP=9), ("layout", "THEAP is 9, in a unit of 8 bytes with rows of 8")),
        (table(b"12345678", 8, [("a", "0PB"), ("b", "K")]), ("layout", "a variable-length column without descriptors")),
    ],
)  # fmt: skip
def test_units(data: bytes, expected: tuple[str, str]) -> None:
    assert said(data) == [expected]


def test_units_that_are_sound() -> None:
    assert said(unit({"XTENSION": "IMAGE", "BITPIX": 8, "NAXIS": 64, **dict([*MANY.items()][:64])}, b"a")) == []
    assert said(table(b"1234", 4, [("a", "I4")], kind="TABLE", TBCOL1=1)) == []
    assert said(bintable(form="1PB", THEAP=8)) == []
    assert said(bintable(form="1PB", heap=b"abc", THEAP=11)) == []


def test_the_size_of_a_heap_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bintable(form="1PB", heap=b"abc")
    monkeypatch.setattr(tables, "MOST_HEAP", 11)
    assert said(data) == []
    monkeypatch.setattr(tables, "MOST_HEAP", 10)
    assert said(data) == [("vlen-large", "a table with its heap of 11 bytes; at most 10 are one chunk")]


def test_random_groups_of_too_many_axes() -> None:
    shape = (1,) * 64
    data = groups(np.zeros((2, 1), "i2"), shape, 0)
    assert [i.reason for i in scan_bytes(SCANNER, data).report] == ["dataspace"]
    assert [i.reason for i in scan_bytes(SCANNER, groups(np.zeros((2, 1), "i2"), shape[1:], 0)).report] == [None]


def test_sums_of_data() -> None:
    checked = ScanOptions(extra={"fits": {"checksums": True}})
    total = int(np.frombuffer(SMALL.astype(">i2").tobytes(), ">u4").sum())
    assert said(image(SMALL, DATASUM=str(total)), checked) == []
    assert said(image(SMALL, DATASUM=str(total + 1))) == []
    wrong = at_data(f"its data have another sum than DATASUM, which is {total + 1}")
    assert said(image(SMALL, DATASUM=str(total + 1)), checked) == [wrong]


def test_a_header_that_the_file_ends_in() -> None:
    data = primary() + image(SMALL)[:1440]
    group = scan_bytes(SCANNER, data)
    assert [(i.reason, i.detail) for i in group.report] == [
        ("corrupt", "the file does not end with a whole block: units may be missing")
    ]
    long = primary() + unit({"XTENSION": "IMAGE", **{f"KEY{i}": i for i in range(40)}})[:2880]
    (item,) = scan_bytes(SCANNER, long).report
    assert (item.reason, item.detail) == ("corrupt", "byte 2880: a header without an END card")


# --------------------------------------------------------------------------------------- compressed images


def descriptors(*pairs: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *pair) for pair in pairs)


def compressed(
    rows: bytes | None = None, stride: int = 8, columns: list[tuple[str, str]] | None = None, heap: bytes = bytes(20),
    **cards: Any,
) -> bytes:  # fmt: skip
    """An image of 4 x 3 16-bit integers in tiles of a row."""
    whole = descriptors(*[(5, 5 * n) for n in range(4)]) if rows is None else rows
    about: dict[str, object] = {
        "ZIMAGE": True,
        "ZCMPTYPE": "GZIP_1",
        "ZBITPIX": 16,
        "ZNAXIS": 2,
        "ZNAXIS1": 3,
        "ZNAXIS2": 4,
    }
    given = {key: value for key, value in {**about, **cards}.items() if value is not None}
    return table(whole, stride, columns or [("COMPRESSED_DATA", "1PB(5)")], heap=heap, **given)


def with_column(name: str, form: str, values: bytes, **cards: Any) -> bytes:
    """With one more column, the same bytes in each row."""
    rows = b"".join(descriptors((5, 5 * n)) + values for n in range(4))
    return compressed(rows, 8 + len(values), [("COMPRESSED_DATA", "1PB(5)"), (name, form)], **cards)


FLOATS: dict[str, Any] = {"ZBITPIX": -32, "ZSCALE": 0.5, "ZZERO": 0.0, "ZCMPTYPE": "RICE_1"}
DITHERED: dict[str, Any] = {**FLOATS, "ZQUANTIZ": "SUBTRACTIVE_DITHER_1"}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (compressed(ZBITPIX=7), at_head("ZBITPIX is 7, ZNAXIS is 2")),
        (compressed(ZNAXIS=0), at_head("ZBITPIX is 16, ZNAXIS is 0")),
        (compressed(ZNAXIS=65), ("dataspace", "65 axes; at most 64 are possible")),
        (compressed(ZNAXIS1=-1), at_head("an image of (4, -1) in tiles of (1, -1)")),
        (compressed(ZTILE1=0), at_head("an image of (4, 3) in tiles of (1, 0)")),
        (compressed(ZNAXIS1=(1 << 28) + 1), ("too-large", "tiles of 268435457 pixels")),
        (compressed(ZCMPTYPE="JPEG"), ("compression", "ZCMPTYPE is 'JPEG'")),
        (changed(compressed(), BITPIX=16), at_data("a compressed image that is no binary table")),
        (compressed(ZNAXIS2=5), at_data("4 tiles in the table, 5 in the image")),
        (compressed(columns=[("COMPRESSED_DATA", "2J")]),
         ("layout", "column COMPRESSED_DATA is not of variable length")),
        (compressed(descriptors((5, 0), (0, 0), (5, 0), (5, 0))), at_data("tile 1 has no data")),
        (compressed(descriptors((5, 0), (5, 16), (5, 0), (5, 0))), at_data("tiles outside of a heap of 20 bytes")),
        (compressed(descriptors((5, 0), (5, -1), (5, 0), (5, 0))), at_data("tiles outside of a heap of 20 bytes")),
        (compressed(descriptors((-5, 0), (5, 1), (5, 0), (5, 0))), at_data("tiles outside of a heap of 20 bytes")),
        (compressed(THEAP=-1), at_data("tiles outside of a heap of 53 bytes")),
        (compressed(THEAP=33), at_data("tiles outside of a heap of 19 bytes")),
        (compressed(**{**FLOATS, "ZSCALE": None}),
         ("compression", "RICE_1 of floating-point numbers that are not quantised")),
        (compressed(ZCMPTYPE="RICE_1", ZNAME1="BYTEPIX", ZVAL1=3), ("compression", "RICE_1 of pixels of 3 bytes")),
        (compressed(ZCMPTYPE="RICE_1", ZNAME1="BYTEPIX", ZVAL1=2.5), at_head("ZVAL1 is no integer")),
        (compressed(ZCMPTYPE="RICE_1", ZNAME1="BYTEPIX", ZVAL1="2"), at_head("ZVAL1 is no integer")),
        (compressed(**{**FLOATS, "ZQUANTIZ": "OTHER"}), ("compression", "ZQUANTIZ is 'OTHER'")),
        (compressed(**DITHERED), at_head("ZDITHER0 is not there")),
        (compressed(**DITHERED, ZDITHER0=-1), at_head("ZDITHER0 is -1")),
        (with_column("ZSCALE", "D", struct.pack(">d", float("nan")), **{**FLOATS, "ZSCALE": None}),
         at_data("tile 0 has no scale")),
        (with_column("ZZERO", "D", struct.pack(">d", float("inf")), **FLOATS), at_data("tile 0 has no scale")),
        (with_column("ZSCALE", "2E", bytes(8), **FLOATS),
         ("layout", "column 2 of the table of tiles is no column of numbers")),
        (with_column("ZSCALE", "8A", bytes(8), **FLOATS),
         ("layout", "column 2 of the table of tiles is no column of numbers")),
        (compressed(ZSCALE=1.0), ("compression", "integers with a scale for each tile")),
        (with_column("ZBLANK", "J", struct.pack(">i", 7)),
         ("compression", "integers with a blank value for each tile")),
        (with_column("ZBLANK", "J", struct.pack(">i", 7), BLANK=8),
         ("compression", "integers with a blank value for each tile")),
        (with_column("NULL_PIXEL_MASK", "1PB", descriptors((1, 0))),
         ("compression", "pixels without a value are in a mask of their own")),
        (with_column("NULL_PIXEL_MASK", "J", bytes(4)),
         ("compression", "pixels without a value are in a mask of their own")),
    ],
)  # fmt: skip
def test_compressed_images(data: bytes, expected: tuple[str, str]) -> None:
    assert said(data) == [expected]


def test_compressed_images_that_are_sound() -> None:
    assert said(compressed()) == []
    assert said(compressed(THEAP=32)) == []
    assert said(compressed(**FLOATS)) == []
    assert said(compressed(**DITHERED, ZDITHER0=1)) == []
    assert said(compressed(ZCMPTYPE="RICE_1", ZNAME1="BYTEPIX", ZVAL1=2)) == []
    assert said(with_column("ZBLANK", "J", struct.pack(">i", 7), BLANK=7)) == []
    assert said(with_column("NULL_PIXEL_MASK", "1PB", descriptors((0, 0)))) == []
    assert said(compressed(descriptors((5, 15), (5, 0), (20, 0), (0, 20))[:24] + descriptors((1, 19)))) == []


def test_tables_of_tiles_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "MOST_TABLE", 32)
    assert said(compressed()) == []
    monkeypatch.setattr(tiles, "MOST_TABLE", 31)
    assert said(compressed()) == [("too-large", "a table of tiles of 32 bytes")]


def scaled(zero: tuple[float, ...], heap: list[tuple[int, int]]) -> bytes:
    """Quantised tiles, each with a zero of its own."""
    rows = b"".join(descriptors(place) + struct.pack(">d", z) for place, z in zip(heap, zero, strict=True))
    return compressed(rows, 16, [("COMPRESSED_DATA", "1PB(5)"), ("ZZERO", "D")], **{**FLOATS, "ZZERO": None})


def test_the_kinds_of_tiles_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few are encodings of their own; tiles that follow each other are grouped; else there are too many."""
    apart = scaled((0.0, 1.0, 2.0, 3.0), [(5, 15), (5, 10), (5, 5), (5, 0)])
    behind = scaled((0.0, 1.0, 2.0, 3.0), [(5, 0), (5, 5), (5, 10), (5, 15)])
    monkeypatch.setattr(tiles, "MOST_ENCODINGS", 3)
    monkeypatch.setattr(tiles, "FEW", 1)
    assert said(apart) == [("too-large", "4 different sets of numbers for the tiles of one image")]
    assert said(behind) == []
    monkeypatch.setattr(tiles, "GROUPED", 24)
    monkeypatch.setattr(tiles, "MOST_ENCODINGS", 1)
    assert said(behind) == [("too-large", "2 sets of numbers for the tiles of one image")]
    monkeypatch.setattr(tiles, "MOST_ENCODINGS", 2)
    assert said(behind) == []
