"""What sections, packings and grids may not say: each refusal by its class and words, without any other library."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import imagecodecs
import numpy as np
import pytest
from tests.unit.codecs.refusals.tables import chain, fault

from byteatlas.codecs.grib import fields
from byteatlas.codecs.grib.grids import earth, parameters, points, rows
from byteatlas.codecs.grib.packing import (
    bifourier,
    bits,
    complex,
    images,
    matrix,
    plain,
    second_order,
    simple,
    spectral,
)
from byteatlas.codecs.grib.packing.coded import Coded, power
from byteatlas.codecs.grib.sections import edition2, message, wire
from byteatlas.codecs.grib.sections.values import MOST_HEADER, Bitmap, GribPacking
from byteatlas.errors import CorruptChunk, CorruptFile, InvalidMetadata, Unsupported
from byteatlas.types import ByteRange

Places = dict[int, tuple[int, int]]


def octets(size: int, places: Places) -> bytes:
    """So many bytes, zero but for numbers: place -> (number, its bytes)."""
    out = bytearray(size)
    for at, (number, width) in places.items():
        out[at : at + width] = number.to_bytes(width, "big")
    return bytes(out)


def packed(
    data: bytes, section: bytes = b"", *, edition: int = 2, points: int = 8, values: int | None = 8, bits: int = 8,
    template: int = 0, grid: bytes = b"", bitmap: Any = None, name: str = "",
) -> Coded:  # fmt: skip
    how = GribPacking(name, template, values, 0.0, 0, 0, bits, 0, section)
    return Coded(edition, how, memoryview(data), points, grid, bitmap)


# ------------------------------------------------------------------------------------------------------ packings


def groups(**change: Any) -> Coded:
    """Complex packing: two groups of 4 values of 8 bits."""
    places: Places = {22: (0, 1), 31: (2, 4), 35: (8, 1), 36: (0, 1), 37: (4, 4), 41: (1, 1), 42: (4, 4), 46: (0, 1)}
    places |= {place: (value, width) for place, value, width in change.get("change", [])}
    section = octets(49, places)
    data = bytes(5) + change.get("data", bytes([10, 20]) + bytes(range(8)))
    return packed(data, section, bits=change.get("bits", 8), template=change.get("template", 2), values=8)


def second(data: bytes, layout: dict[str, int], **more: Any) -> Coded:
    """Edition 1's second-order packing: a head of 21 bytes."""
    places: Places = {
        10: (layout.get("width", 8), 1),
        16: (layout.get("groups", 2), 2),
        18: (layout.get("count", 8), 2),
    }
    return packed(octets(21, places) + data, edition=1, **more)


def extended2(width: int, length: int, data: bytes, order: int = 0, count: int = 1, **more: Any) -> Coded:
    places: Places = {20: (8, 1), 21: (count, 4), 29: (width, 1), 30: (length, 1), 31: (order, 1)}
    return packed(bytes(5) + data, octets(34, places), template=50001, **more)


def harmonics(j: int, data: bytes, edition: int = 2, section: Places | None = None, **more: Any) -> Coded:
    grid = (
        octets(26, {14: (j, 4), 18: (j, 4), 22: (j, 4)})
        if edition == 2
        else octets(12, {6: (j, 2), 8: (j, 2), 10: (j, 2)})
    )
    return packed(data, octets(40, section or {}), edition=edition, grid=grid, points=(j + 1) * (j + 2), **more)


def fourier(grid: Places, section: Places, count: int = 16, data: bytes = b"", points: int = 64) -> Coded:
    return packed(bytes(5) + data, octets(40, section), grid=octets(30, grid), values=count, points=points)


def runs(data: bytes, width: int = 8, top: int = 3, known: int = 3, levels: int = 3) -> Coded:
    section = octets(17 + 2 * levels, {11: (width, 1), 12: (top, 2), 14: (known, 2)})
    return packed(bytes(5) + data, section)


RECTANGLE = {15: (1, 4), 19: (1, 4), 23: (77, 1)}
CODESTREAM = images.CODESTREAM + octets(60, {4: (4, 4), 8: (2, 4), 36: (1, 2), 38: (7, 1), 39: (1, 1), 40: (1, 1)})
PNG = imagecodecs.png_encode(np.arange(8, dtype=np.uint8).reshape(2, 4))
PNG16 = imagecodecs.png_encode(np.arange(8, dtype=np.uint16).reshape(2, 4))
Decoder = Callable[[Coded], Any]

PACKINGS: list[tuple[Decoder, Coded, str]] = [
    (simple.decode2, packed(bytes(13), values=9), "grib: 9 packed values where the grid has 8 points"),
    (simple.decode2, packed(bytes(12)), "grib: 64 bits from bit 0 on in 7 bytes"),
    (simple.decode2, packed(bytes(99), bits=65), "grib: packed values of 65 bits"),
    (complex.decode, groups(change=[(31, 9, 4)]), "9 groups of 8 values"),
    (complex.decode, groups(change=[(47, 3, 1)], template=3), "differences of order 3 with 0 octets"),
    (complex.decode, groups(change=[(47, 1, 1), (48, 9, 1)], template=3), "differences of order 1 with 9 octets"),
    (complex.decode, groups(change=[(22, 3, 1)]), "missing-value management 3 with references of 8 bits"),
    (complex.decode, groups(change=[(22, 1, 1)], bits=31), "missing-value management 1 with references of 31 bits"),
    (
        complex.decode,
        groups(change=[(47, 2, 1), (48, 8, 1)], template=3, data=bytes(23)),
        "grib complex packing: 23 bytes",
    ),
    (complex.decode, groups(change=[(42, 9, 4)]), "a group of 9 values where there are 8"),
    (complex.decode, groups(change=[(37, 9, 4)]), "a group of 9 values where there are 8"),
    (complex.decode, groups(change=[(42, 5, 4)]), "groups of 9 values in all where there are 8"),
    (complex.decode, groups(change=[(35, 57, 1)]), "groups of numbers of 57 bits"),
    (
        complex.decode,
        groups(data=bytes([10, 20]) + bytes(7)),
        "grib complex packing: 64 bits from bit 16 on in 9 bytes",
    ),
    (complex.decode, groups(change=[(36, 65, 1)]), "grib complex packing: numbers of 65 bits"),
    (
        second_order.decode_constant_width,
        second(b"\4", {"count": 9}),
        "grib: 9 packed values where the grid has 8 points",
    ),
    (second_order.decode_constant_width, second(b"\4", {}), "0 bytes for a bit map of 8 bits"),
    (second_order.decode_general, second(b"\4\4\0", {}), "0 groups begin where there are 2"),
    (second_order.decode_general, second(b"\4\4\x40", {}), "1 groups begin where there are 2"),
    (second_order.decode_general, second(b"\4\4\xe0", {}), "3 groups begin where there are 2"),
    (second_order.decode_general, second(b"\4", {}), "2 groups in 22 bytes"),
    (
        second_order.decode_rows,
        second(b"\4", {"groups": 1}, grid=octets(32, {6: (4, 2), 8: (2, 2)})),
        "1 groups where the grid has 2 rows",
    ),
    (
        second_order.decode_rows,
        second(b"\4", {}, grid=octets(32, {6: (4, 2), 8: (3, 2)})),
        "3 rows of 4 points where there are 8 points",
    ),
    (second_order.decode_extended2, extended2(8, 8, b"\x38\x08\0", bits=0), "no bits for values"),
    (second_order.decode_extended2, extended2(8, 8, b"\x39\x08\0"), "groups of 8 values of 57 bits"),
    (second_order.decode_extended2, extended2(8, 8, b"\x01\x09\0"), "groups of 9 values of 1 bits"),
    (second_order.decode_extended2, extended2(8, 8, b"\x01\x08\0", order=4), "differences of order 4"),
    (second_order.decode_extended2, extended2(8, 8, b"", count=9), "grib: 9 packed values where the grid has 8 points"),
    (
        spectral.decode_simple,
        packed(b"", grid=octets(26, {14: (2, 4), 18: (2, 4), 22: (1, 4)})),
        "truncation [2, 2, 1]",
    ),
    (
        spectral.decode_simple,
        packed(bytes(5), octets(40, {}), grid=octets(26, {14: (9, 4), 18: (9, 4), 22: (9, 4)})),
        "110 packed values",
    ),
    (spectral.decode_simple, harmonics(1, bytes(17), 1), "2 packed numbers where there are 5"),
    (
        spectral.decode_complex,
        harmonics(1, bytes(5), section={24: (2, 2), 26: (2, 2), 28: (2, 2)}),
        "a part of truncation 2 of coefficients of truncation 1",
    ),
    (
        spectral.decode_complex,
        harmonics(1, bytes(5), section={24: (2, 2), 26: (1, 2), 28: (2, 2)}),
        "a part of truncation [1, 2]",
    ),
    (spectral.decode_ieee, harmonics(1, bytes(28), section={28: (1, 1)}), "23 bytes of precision 1 for 6 coefficients"),
    (spectral.decode_ieee, harmonics(1, bytes(99), section={28: (3, 1)}), "94 bytes of precision 3 for 6 coefficients"),
    (spectral.decode_complex, harmonics(1, bytes(12), section={34: (1, 1)}), "7 bytes for 2 numbers of precision 1"),
    (spectral.decode_complex, harmonics(1, bytes(99), section={34: (3, 1)}), "94 bytes for 2 numbers of precision 3"),
    (
        spectral.decode_complex,
        harmonics(1, bytes(5) + b"\x7f\xf0" + bytes(60), section={34: (2, 1)}),
        "a number beyond the range of normal ones",
    ),
    (bifourier.decode, fourier(RECTANGLE | {15: (65, 4)}, {}), "wave numbers up to 65 and 1 for 64 coefficients"),
    (bifourier.decode, fourier(RECTANGLE | {23: (78, 1)}, {}), "grib bi-Fourier: truncation 78"),
    (bifourier.decode, fourier(RECTANGLE, {}, 15), "16 coefficients where there are 15"),
    (bifourier.decode, fourier(RECTANGLE, {20: (77, 1), 34: (3, 1)}), "0 bytes for 4 numbers of precision 3"),
    (images.decode_jpeg2000, packed(bytes(70)), "grib jpeg2000: not a JPEG 2000 codestream"),
    (images.decode_jpeg2000, packed(bytes(5) + CODESTREAM[:44]), "grib jpeg2000: not a JPEG 2000 codestream"),
    (images.decode_jpeg2000, packed(bytes(5) + CODESTREAM), "grib jpeg2000: "),
    (images.decode_jpeg2000, packed(bytes(5) + CODESTREAM, values=7), "4 x 2 samples where there are 7"),
    (
        images.decode_jpeg2000,
        packed(bytes(5) + CODESTREAM[:41] + b"\2" + CODESTREAM[42:]),
        "2 components, the first of depth 7",
    ),
    (
        images.decode_jpeg2000,
        packed(bytes(5) + CODESTREAM[:42] + b"\x87" + CODESTREAM[43:]),
        "1 components, the first of depth 135",
    ),
    (
        images.decode_jpeg2000,
        packed(bytes(5) + CODESTREAM[:42] + b"\x1f" + CODESTREAM[43:]),
        "1 components, the first of depth 31",
    ),
    (images.decode_jpeg2000, packed(bytes(5) + CODESTREAM[:44] + b"\2" + CODESTREAM[45:]), "1 components, the first"),
    (images.decode_png, packed(bytes(5) + PNG, values=7), "grib png: 2 x 4 pixels of 1 samples, for 7 values"),
    (images.decode_png, packed(bytes(5) + PNG16), "grib png: 2 x 4 pixels of 1 samples, for 8 values"),
    (images.decode_png, packed(bytes(5)), "png: not a PNG stream"),
    (images.decode_ccsds, packed(bytes(9), octets(25, {}), bits=33), "grib ccsds: packed values of 33 bits"),
    (images.decode_ccsds, packed(bytes(6), octets(25, {22: (8, 1), 23: (128, 2)})), "grib ccsds: "),
    (plain.decode_ieee2, packed(bytes(37), octets(12, {11: (3, 1)})), "grib ieee: precision 3"),
    (plain.decode_ieee2, packed(bytes(41), octets(12, {11: (1, 1)})), "9 packed values where the grid has 8"),
    (plain.decode_ieee2, packed(bytes(36), octets(12, {11: (1, 1)})), "grib ieee: 7 numbers where there are 8 values"),
    (plain.decode_runs, runs(b"\0", width=0), "grib run length: numbers of 0 bits"),
    (plain.decode_runs, runs(b"\0", width=17), "grib run length: numbers of 17 bits"),
    (plain.decode_runs, runs(b"\0", top=4), "levels up to 4 of 3, in numbers of 8 bits"),
    (plain.decode_runs, runs(b"\0", width=2), "levels up to 3 of 3, in numbers of 2 bits"),
    (plain.decode_runs, runs(b"\0", levels=2), "levels up to 3 of 3"),
    (plain.decode_runs, runs(b"\5\1"), "the runs are not those of 8 values"),
    (plain.decode_runs, runs(b"\1\x0a"), "the runs are not those of 8 values"),
    (plain.decode_runs, runs(b"\1\x0c"), "the runs are not those of 8 values"),
]


@pytest.mark.parametrize(("decode", "given", "words"), PACKINGS)
def test_values_that_are_damaged(decode: Decoder, given: Coded, words: str) -> None:
    with fault(CorruptChunk, words):
        decode(given)


def test_the_same_packings_undamaged() -> None:
    assert simple.decode2(packed(bytes(5) + bytes(range(8)))).tolist() == [*range(8)]
    assert complex.decode(groups()).tolist() == [10, 11, 12, 13, 24, 25, 26, 27]
    assert images.decode_png(packed(bytes(5) + PNG)).tolist() == [*range(8)]
    assert images.decode_png(packed(bytes(5) + PNG16, bits=16)).tolist() == [*range(8)]
    assert second_order.decode_extended2(extended2(8, 8, b"\x08\x08\x05" + bytes(range(8)))).tolist() == [*range(5, 13)]
    general = second(b"\4\x08\x88" + b"\1\2" + b"\x01\x23" + bytes([9, 8, 7, 6]), {})
    assert second_order.decode_general(general).tolist() == [1, 2, 3, 4, 11, 10, 9, 8]
    constant = second(b"\4\x88" + b"\1\2" + b"\x01\x23\x45\x67", {})
    assert second_order.decode_constant_width(constant).tolist() == [1, 2, 3, 4, 6, 7, 8, 9]
    assert spectral.decode_simple(harmonics(1, bytes(5) + bytes([1, 2, 3, 4, 5]))).tolist() == [0, 1, 2, 3, 4, 5]
    numbers = np.array([1.5, -2, 3, 4, 5, 6], ">f8")
    assert spectral.decode_ieee(harmonics(1, bytes(5) + numbers.tobytes(), section={28: (2, 1)})).tolist() == [*numbers]
    found = plain.decode_ieee2(packed(bytes(5) + np.arange(8, dtype=">f8").tobytes(), octets(12, {11: (2, 1)})))
    assert found.tolist() == [*range(8)]


def test_runs_of_levels() -> None:
    section = octets(23, {11: (8, 1), 12: (3, 2), 14: (3, 2), 17: (5, 2), 19: (7, 2), 21: (9, 2)})
    found = plain.decode_runs(packed(bytes(5) + bytes([1, 2, 6, 0, 3, 6]), section, values=8))
    assert np.array_equal(found, [5, 7, 7, 7, np.nan, 9, 9, 9], equal_nan=True)


def test_coefficients_of_rectangles_ellipses_and_diamonds() -> None:
    assert bifourier.limits(77, 3, 2).tolist() == [3, 3, 3]
    assert bifourier.limits(88, 4, 2).tolist() == [4, 3, 0]
    assert bifourier.limits(99, 4, 2).tolist() == [4, 2, 0]
    assert bifourier.limits(99, 4, 0).tolist() == [-1]
    assert bifourier.limits(88, 4, 0).tolist() == [4]


def test_a_rectangle_of_coefficients() -> None:
    """Wave numbers 0 and 1 along both axes: the first pair is stored as it is, the others divided by i**2 + j**2."""
    stored = np.array([1.5, 2.5, 3.5, 4.5], ">f4").tobytes()
    section = {20: (77, 1), 22: (1000000, 4), 34: (1, 1)}
    found = bifourier.decode(fourier(RECTANGLE, section, data=stored + bytes(range(2, 26, 2))))
    assert found.tolist() == [1.5, 2.5, 3.5, 4.5, 2, 4, 6, 8, 10, 12, 14, 16, 9, 10, 11, 12]
    axes = {**section, 21: (1, 1)}
    plain_numbers = np.arange(12, dtype=">f4").tobytes()
    found = bifourier.decode(fourier(RECTANGLE, axes, data=plain_numbers + bytes([2, 4, 6, 8])))
    assert found.tolist() == [*range(12), 1, 2, 3, 4]
    assert bifourier._pow(0.0, -1.0) == math.inf
    assert bifourier._pow(1e300, 2.0) == math.inf


@pytest.mark.parametrize("edition", [1, 2])
def test_matrices_of_values(edition: int) -> None:
    given = packed(octets(30, {13: (8, 1)}), octets(40, {20: (1, 1)}), edition=edition)
    with fault(Unsupported, "grib: a matrix of values at each point", "[compression]"):
        (matrix.decode1 if edition == 1 else matrix.decode2)(given)
    one = packed(bytes(30), bytes(40), edition=edition, bits=0)
    assert (matrix.decode1 if edition == 1 else matrix.decode2)(one).tolist() == [0.0] * 8


@pytest.mark.parametrize("decode", [images.decode_jpeg2000, images.decode_png, images.decode_ccsds, complex.decode])
def test_fields_of_one_value_have_no_stream(decode: Decoder) -> None:
    given = groups(change=[(31, 0, 4)]) if decode is complex.decode else packed(bytes(5), octets(25, {}), bits=0)
    assert decode(given).tolist() == [0.0] * 8


def test_streams_of_other_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a decoder gives is compared with what the header said."""
    monkeypatch.setattr(
        images, "imagecodecs_function", lambda name: lambda *given, **options: np.zeros((2, 4), np.int8)
    )
    with fault(CorruptChunk, "grib jpeg2000: 8 samples of int8 where there are 8 values"):
        images.decode_jpeg2000(packed(bytes(5) + CODESTREAM))
    rgb = imagecodecs.png_encode(np.zeros((2, 4, 3), np.uint8))
    with fault(CorruptChunk, "grib png: 8 samples of int8"):
        images.decode_png(packed(bytes(5) + rgb, bits=24))
    with fault(CorruptChunk, "grib ccsds: 8 bytes for 8 values of 2"):
        images.decode_ccsds(packed(bytes(5), octets(25, {22: (8, 1)}), bits=9))


@pytest.mark.parametrize(
    ("exponent", "wanted"), [(0, 1.0), (3, 8.0), (-2, 0.25), (1023, 2.0**1023), (1024, math.inf), (32767, math.inf)]
)
def test_powers_of_two(exponent: int, wanted: float) -> None:
    assert power(2, exponent) == wanted


def test_numbers_of_all_widths() -> None:
    for width in (1, 7, 8, 25, 26, 57, 58, 64):
        wanted = [(k * 0x9E3779B97F4A7C15) % (1 << width) for k in range(1, 40)]
        digits = "".join(f"{n:0{width}b}" for n in wanted)
        for start in (0, 3):
            text = "1" * start + digits
            data = int(text + "0" * (-len(text) % 8), 2).to_bytes(-(-len(text) // 8), "big")
            assert bits.numbers(data, start, width, 39).tolist() == wanted


# ------------------------------------------------------------------------------------------------------ fields


def bitmap(indicator: int, size: int = 1, unused: int = 0) -> Bitmap:
    return Bitmap(indicator, ByteRange(0, size) if indicator == 0 else None, unused)


def test_bit_maps() -> None:
    data = memoryview(b"\xa0")
    found = fields.present(data, bitmap(0, unused=5), 3, True)
    assert found is not None
    assert found.tolist() == [True, False, True]
    assert fields.present(data, bitmap(255), 3, True) is None
    with fault(Unsupported, "bit map 7 of the centre's own", "[layout]"):
        fields.present(data, bitmap(7), 3, True)
    for size, exact, unused in ((9, False, 0), (3, True, 4), (3, True, 6)):
        with fault(CorruptChunk, f"a bit map of 8 bits, {unused} of them unused, for {size} points"):
            fields.present(data, bitmap(0, unused=unused), size, exact)


def test_values_at_their_points() -> None:
    there = np.array([True, False, True])
    assert np.array_equal(fields.spread(np.array([1.0, 2.0]), there, 3), [1, np.nan, 2], equal_nan=True)
    assert np.isnan(fields.spread(np.array([]), there, 3)).all()
    assert fields.spread(np.array([1.0, 2.0, 3.0]), np.ones(3, bool), 3).tolist() == [1, 2, 3]
    with fault(CorruptChunk, "grib: 1 values for 2 points that have one"):
        fields.spread(np.array([1.0]), there, 3)
    with fault(CorruptChunk, "grib: 2 values for 3 points"):
        fields.spread(np.array([1.0, 2.0]), None, 3)


# ------------------------------------------------------------------------------------------------------ sections


def section(number: int, body: bytes) -> bytes:
    return (5 + len(body)).to_bytes(4, "big") + bytes([number]) + body


LATLON = octets(67, {1: (8, 4), 7: (0, 2), 25: (4, 4), 29: (2, 4), 50: (3, 4)})
FIRST, GRID, PRODUCT = section(1, bytes(16)), section(3, LATLON), section(4, bytes(4))
SIMPLE, NO_BITMAP = section(5, octets(16, {0: (8, 4), 14: (8, 1)})), section(6, b"\xff")
DATA = section(7, bytes(range(8)))
WHOLE = (FIRST, GRID, PRODUCT, SIMPLE, NO_BITMAP, DATA)


def sectioned(*sections: bytes, edition: int = 2, total: int | None = None, end: bytes = b"7777") -> bytes:
    body = b"".join(sections) + end
    return b"GRIB\0\0\0" + bytes([edition]) + (16 + len(body) if total is None else total).to_bytes(8, "big") + body


def decoded(data: bytes, **configuration: Any) -> Any:
    return chain(("byteatlas.grib2", configuration), dtype="f8", shape=(2, 4)).decode(data)


def test_a_message_made_of_its_sections() -> None:
    assert decoded(sectioned(*WHOLE)).tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    twice = sectioned(*WHOLE, PRODUCT, SIMPLE, section(6, b"\xff"), section(7, bytes(8)))
    assert decoded(twice, field=1).tolist() == [[0] * 4] * 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"GRIX" + sectioned(*WHOLE)[4:], "byte 0: a message begins with GRIB"),
        (sectioned(*WHOLE, total=85), "byte 4: a message of 85 bytes"),
        (sectioned(*WHOLE)[:40], "the message ends before byte"),
        (sectioned(*WHOLE, end=b"7776"), "the message does not end with 7777"),
        (sectioned(GRID, *WHOLE), "byte 16: section 3 after section 0"),
        (sectioned(FIRST, GRID, GRID, *WHOLE[2:]), "section 3 after section 3"),
        (sectioned(*WHOLE, FIRST), "section 1 after section 7"),
        (sectioned(*WHOLE, section(8, b"")), "section 8 after section 7"),
        (sectioned(*WHOLE[:-1], bytes(16)), "section 0 after section 6"),
        (sectioned(section(1, bytes(15)), *WHOLE[1:]), "byte 16: section 1 of 20 bytes"),
        (sectioned(*WHOLE[:-1], b"\0\0\1\0\7" + bytes(8)), "section 7 of 256 bytes in a message of"),
        (sectioned(*WHOLE[:-1], end=b"7777"), "the sections end here"),
        (sectioned(*WHOLE, b"\0\0\0"), "section"),
        (
            sectioned(*WHOLE[:4], section(6, b"\xfe"), DATA),
            "the bit map of the field before, where no field before has one",
        ),
        (sectioned(*WHOLE[:4], section(6, b"\1"), DATA), "bit map 1 of the centre's own"),
        (sectioned(FIRST, GRID, PRODUCT, section(5, octets(14, {0: (8, 4)})), NO_BITMAP, DATA), "a number of 1 bytes"),
        (
            sectioned(FIRST, GRID, PRODUCT, section(5, octets(16, {0: (8, 4), 6: (0x7F80, 2)})), NO_BITMAP, DATA),
            "not finite",
        ),
        (
            sectioned(FIRST, GRID, PRODUCT, section(5, octets(6, {0: (8, 4), 4: (999, 2)})), NO_BITMAP, DATA),
            "packing template_999",
        ),
        (sectioned(*WHOLE, edition=3), "a message of GRIB edition 3; only 1 and 2 are read"),
    ],
)
def test_messages_that_are_damaged(data: bytes, words: str) -> None:
    reasons = {"bit map 1": "layout", "packing": "compression", "a message of GRIB edition": "layout"}
    reason = [code for begin, code in reasons.items() if words.startswith(begin)]
    with fault(Unsupported if reason else CorruptChunk, words, *(f"[{code}]" for code in reason)):
        decoded(data)


def test_sections_of_a_header_are_bounded() -> None:
    walking = message.walk()
    next(walking)
    walking.send(b"GRIB\0\0\0\2")
    walking.send((1 << 40).to_bytes(8, "big"))
    with fault(CorruptFile, f"section 1 has {MOST_HEADER + 1} bytes"):
        walking.send((MOST_HEADER + 1).to_bytes(4, "big") + b"\1\0")


def test_fields_of_a_message_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edition2, "MOST_FIELDS", 2)
    again = (PRODUCT, SIMPLE, NO_BITMAP, DATA)
    assert len(message.parse(sectioned(*WHOLE, *again)).fields) == 2
    with fault(CorruptFile, "more than 2 fields"):
        message.parse(sectioned(*WHOLE, *again, *again))


def first_edition(
    product: Places | None = None, grid: bytes = b"", bits: bytes = b"", data: bytes = b"", length: int | None = None
) -> bytes:
    product_section = octets(28, {0: (28, 3), 7: (0x80 * bool(grid) | 0x40 * bool(bits), 1), **(product or {})})
    body = product_section + grid + bits + (data or octets(19, {0: (19, 3), 10: (8, 1)})) + b"7777"
    return b"GRIB" + (8 + len(body) if length is None else length).to_bytes(3, "big") + b"\1" + body


GRID1 = octets(32, {0: (32, 3), 4: (255, 1), 6: (4, 2), 8: (2, 2)})


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (first_edition(length=50), "byte 4: a message of 50 bytes"),
        (first_edition({0: (27, 3)}), "byte 8: a section of 27 bytes in a message of"),
        (first_edition({0: (999, 3)}), "byte 8: a section of 999 bytes in a message of"),
        (first_edition(grid=octets(32, {0: (5, 3)})), "byte 36: a section of 5 bytes"),
        (first_edition(bits=octets(8, {0: (5, 3)})), "byte 36: a section of 5 bytes"),
        (first_edition(data=octets(19, {0: (10, 3)})), "byte 36: section 4 of 10 bytes in a message of 59"),
        (first_edition(data=octets(19, {0: (20, 3)})), "byte 36: section 4 of 20 bytes in a message of 59"),
        (first_edition(length=52), "a section in a message of 52 bytes"),
    ],
)
def test_messages_of_edition_1_that_are_damaged(data: bytes, words: str) -> None:
    if "in a message of 52" in words:  # a bit map that does not fit
        data = first_edition({7: (0x40, 1), 0: (40, 3)}, data=bytes(40), length=52)
    with fault(CorruptChunk, "grib: ", words):
        chain(("byteatlas.grib1", {}), dtype="f8", shape=(8,)).decode(data)


def test_bit_maps_of_the_centre() -> None:
    data = first_edition(bits=octets(8, {0: (8, 3), 4: (3, 2)}))
    with fault(Unsupported, "bit map 3 of the centre's own", "[layout]"):
        chain(("byteatlas.grib1", {}), dtype="f8", shape=(8,)).decode(data)


def test_packings_of_edition_1_that_are_not_read() -> None:
    for flags, more, name in ((0x50, 0x40, "grid_second_order_matrix"), (0x50, 0x08, "grid_second_order_unknown")):
        data = octets(30, {0: (30, 3), 3: (flags, 1), 10: (8, 1), 13: (more, 1)})
        with fault(Unsupported, f"grib: packing {name}", "[compression]"):
            chain(("byteatlas.grib1", {}), dtype="f8", shape=(8,)).decode(first_edition(data=data))


def test_long_messages_of_edition_1() -> None:
    """From 2**23 bytes on lengths count units of 120 bytes, less what section 4 says."""
    size = 1 << 23
    units = -(-(size + 51) // 120)
    rest = units * 120 - (size + 51) + 4
    data = octets(11, {0: (rest, 3), 10: (8, 1)}) + bytes(size)
    found = message.parse(first_edition(data=data, length=0x800000 | units))
    assert (found.length, found.fields[0].data.length) == (size + 51, size + 11)


@pytest.mark.parametrize(
    ("data", "number", "words"),
    [
        (b"GRIB\0\0\0\2", 0, "a message begins with GRIB"),
        (b"X" * 40, 0, "a message begins with GRIB"),
        (first_edition(), 1, "field 1 of a message of edition 1, which has one"),
        (first_edition({0: (3, 3)}), 0, "a section of 3 bytes in the first"),
        (first_edition()[:30], 0, "a section of 28 bytes in the first 30 of a message"),
        (sectioned(section(1, bytes(15)), GRID), 0, "section 1 of 20 bytes"),
        (sectioned(FIRST, section(9, b"")[:4] + b"\x09", b"\0\0\0\4\x09"), 0, "section 9 of 4 bytes"),
        (sectioned(FIRST, GRID)[:60], 0, "a section of 72 bytes in the first 60 of a message"),
        (sectioned(FIRST, GRID), 1, "section 0 of"),
        (sectioned(FIRST, GRID, end=b""), 1, "a number of 4 bytes where a section ends after"),
    ],
)
def test_beginnings_of_messages_that_are_damaged(data: bytes, number: int, words: str) -> None:
    words = words.replace("section 0 of", "section ") if number else words
    with fault(CorruptFile, words):
        message.grid_section(data, number)


def test_beginnings_of_other_editions() -> None:
    with fault(Unsupported, "a message of GRIB edition 5; only 1 and 2 are read", "[layout]"):
        message.grid_section(sectioned(FIRST, GRID, edition=5), 0)
    assert message.grid_section(first_edition(), 0)[1] == b""
    assert message.grid_section(first_edition(grid=GRID1), 0)[1] == GRID1
    assert message.grid_section(sectioned(FIRST, GRID, end=b""), 0)[1:] == (GRID, FIRST)


def test_numbers_of_messages() -> None:
    assert wire.signed(b"\x80\3", 0, 2) == -3
    assert wire.ieee32(b"\xc0\x40\0\0", 0) == -3.0
    assert wire.ieee32(b"\0\0\0\0", 0) == 0.0
    assert wire.ibm32(bytes.fromhex("c2640000"), 0) == -100.0
    assert wire.ibm32(b"\x80\0\0\1", 0) == 0.0
    with fault(CorruptFile, "byte 3: a number of 2 bytes where a section ends after 4"):
        wire.unsigned(bytes(4), 3, 2)
    for word in ("7f800000", "ffc00000"):
        with fault(CorruptFile, "a number that is not finite"):
            wire.ieee32(bytes.fromhex(word), 0)


# ------------------------------------------------------------------------------------------------------ grids


def grid2(template: int, places: Places | None = None, size: int = 90) -> bytes:
    return octets(size, {12: (template, 2), 14: (6, 1), 30: (4, 4), 34: (2, 4), **(places or {})})


def grid1(kind: int, places: Places | None = None, size: int = 50) -> bytes:
    return octets(size, {4: (255, 1), 5: (kind, 1), 6: (4, 2), 8: (2, 2), **(places or {})})


UNSUPPORTED: list[tuple[int, bytes, str]] = [
    (2, grid2(101), "no coordinates are made for grid definition template 101"),
    (1, grid1(50), "no coordinates are made for data representation type 50"),
    (2, grid2(10, {60: (1, 4)}), "a Mercator grid that is turned"),
    (2, grid2(90), "a view that is not one of a geostationary satellite"),
    (2, grid2(90, {38: (1, 4), 47: (9, 4), 51: (9, 4), 68: (6610700, 4)}), "a view that is not one"),
    (2, grid2(90, {47: (9, 4), 51: (9, 4), 68: (1000000, 4)}), "a view that is not one"),
    (2, grid2(90, {47: (9, 4), 51: (9, 4), 68: (0xFFFFFFFF, 4)}), "a view that is not one"),
    (2, grid2(30, {65: (30000000, 4), 69: (30000000 | 1 << 31, 4)}), "a Lambert projection with opposite parallels"),
    (2, grid2(30, {14: (10, 1), 65: (30000000, 4), 69: (30000000, 4)}), "grib: shape of the earth 10"),
    (2, grid2(30, {14: (1, 1), 65: (30000000, 4), 69: (30000000, 4)}), "an earth with half axes of 0.0 and 0.0 metres"),
    (2, grid2(30, {14: (7, 1), 21: (10, 4), 26: (11, 4), 65: (30000000, 4)}), "half axes of 10.0 and 11.0 metres"),
    (2, grid2(30, {14: (3, 1), 21: (10, 4), 26: (5, 4), 65: (30000000, 4)}), "half axes of 10000.0 and 5000.0 metres"),
    (2, grid2(150, {31: (4, 4)}), "a HEALPix grid that does not begin at 45 degrees, or in another order"),
    (2, grid2(1, {80: (0x3F800000, 4), 42: (0, 4)}), "a rotated grid that is turned by 1.0 degrees"),
    (2, grid2(0, {10: (1, 1), 88: (4 << 8 | 4, 2), 55: (0, 4)}), "a reduced grid that is not around the whole globe"),
]


@pytest.mark.parametrize(("edition", "grid", "words"), UNSUPPORTED)
def test_grids_without_coordinates(edition: int, grid: bytes, words: str) -> None:
    assert not points.can_make(edition, grid)
    with fault(Unsupported, words, "[layout]"):
        points.points(edition, grid, 8)


CORRUPT: list[tuple[int, bytes, str]] = [
    (2, grid2(0, {30: (3, 4)}), "grib: 2 rows of 3 points where there are 8"),
    (1, grid1(0, {6: (3, 2)}), "grib: 2 rows of 3 points where there are 8"),
    (2, grid2(0, {10: (1, 1), 88: (4 << 8 | 5, 2)}), "grib: rows of 9 points where there are 8"),
    (2, grid2(0, {10: (3, 1)}), "a list of 2 numbers of 3 bytes in a section of 90"),
    (2, grid2(0, {10: (1, 1), 34: (77, 4)}), "a list of 77 numbers of 1 bytes in a section of 90"),
    (2, grid2(40, {67: (0, 4)}), "grib: 2 rows of 0 parallels in each hemisphere"),
    (2, grid2(40, {67: ((1 << 14) + 1, 4)}), "grib: 2 rows of 16385 parallels in each hemisphere"),
    (2, grid2(40, {30: (2, 4), 34: (4, 4), 67: (1, 4)}), "grib: 4 rows of 1 parallels in each hemisphere"),
    (2, grid2(40, {46: (1 << 31 | 59444408, 4), 67: (2, 4)}), "grib: 2 Gaussian latitudes from -59.444408 degrees on"),
    (1, grid1(0, {3: (9, 1), 4: (33, 1)}), "9 vertical coordinates in a grid section of 50 bytes"),
    (2, grid2(150, {31: (4, 4), 35: (45000000, 4), 39: (4, 1)}), "HEALPix grid of 192 pixels where there are 8 points"),
]


@pytest.mark.parametrize(("edition", "grid", "words"), CORRUPT)
def test_grids_of_another_size(edition: int, grid: bytes, words: str) -> None:
    with fault(CorruptChunk, words):
        points.points(edition, grid, 8)


def test_grids_of_edition_1_that_are_too_short() -> None:
    with fault(CorruptFile, "a number of 3 bytes where a section ends after 20"):
        points.points(1, grid1(0, size=20), 8)


def test_rows_to_and_fro() -> None:
    found = rows.straightened(np.arange(8.0), np.array([4, 4]))
    assert found.tolist() == [0, 1, 2, 3, 7, 6, 5, 4]
    found = rows.straightened(np.arange(8.0), np.array([2, 3, 1, 2]))
    assert found.tolist() == [0, 1, 4, 3, 2, 5, 7, 6]
    assert rows.row_lengths(2, grid2(0), 8).tolist() == [4, 4]
    assert rows.row_lengths(2, grid2(0, {71: (0x20, 1)}), 8).tolist() == [2, 2, 2, 2]
    with fault(CorruptChunk, "grib: 2 rows of 4 points where there are 9 points"):
        rows.row_lengths(2, grid2(0), 9)
    with fault(CorruptChunk, "grib: rows of 8 points where there are 9"):
        rows.row_lengths(2, grid2(0, {10: (1, 1), 88: (4 << 8 | 4, 2)}), 9)


def test_figures_of_the_earth() -> None:
    assert earth.earth_of(1, octets(30, {16: (0x40, 1)})) == earth.IAU1965
    assert earth.earth_of(1, octets(30, {})) == earth.SPHERE1
    assert earth.earth_of(2, octets(30, {14: (1, 1), 15: (1, 1), 16: (63712000, 4)})).major == 6371200.0
    assert earth.earth_of(2, octets(30, {14: (3, 1), 21: (6378, 4), 26: (6357, 4)})) == (6378000.0, 6357000.0)
    assert earth.earth_of(2, octets(30, {14: (7, 1), 21: (6378000, 4), 26: (6357000, 4)})) == (6378000.0, 6357000.0)
    assert earth.earth_of(2, octets(30, {14: (8, 1)})).major == 6371200.0


def test_coordinates_by_hand() -> None:
    """Two rows of four points from 10 N, 350 E, half a degree to the south and a degree to the east."""
    places = {46: (10_000_000, 4), 50: (350_000_000, 4), 55: (9_500_000, 4), 59: (353_000_000, 4), 63: (10**6, 4),
              67: (500_000, 4)}  # fmt: skip
    latitude, longitude = points.points(2, grid2(0, places), 8)
    assert latitude.tolist() == [10.0] * 4 + [9.5] * 4
    assert longitude.tolist() == [350, 351, 352, 353] * 2
    west = points.points(2, grid2(0, {**places, 50: (353_000_000, 4), 59: (350_000_000, 4), 71: (0x80, 1)}), 8)
    assert west[1].tolist() == [353, 352, 351, 350] * 2
    first = points.points(
        1,
        grid1(0, {10: (10_000, 3), 13: (350_000, 3), 17: (9_500, 3), 20: (353_000, 3), 23: (1000, 2), 25: (500, 2)}),
        8,
    )
    assert [first[0].tolist(), first[1].tolist()] == [latitude.tolist(), longitude.tolist()]


@pytest.mark.parametrize(
    ("kind", "places", "wanted"),
    [
        (
            1,
            {23: (20_000, 3), 28: (5000, 3), 31: (6000, 3)},
            {"kind": "mercator", "true": 20.0, "steps": (5000.0, 6000.0)},
        ),
        (
            5,
            {17: (10_000, 3), 20: (5000, 3), 23: (6000, 3), 26: (0x80, 1)},
            {"kind": "polar", "south": True, "true": 60.0, "centre": 10.0},
        ),
        (3, {17: (10_000, 3), 28: (30_000, 3), 31: (60_000, 3)}, {"kind": "lambert", "true": 30.0, "second": 60.0}),
        (4, {25: (32, 2), 23: (0xFFFF, 2)}, {"kind": "gaussian", "parallels": 32, "rotation": None}),
        (10, {32: (0x800000 | 40_000, 3), 35: (5_000, 3)}, {"kind": "regular_ll", "rotation": (-40.0, 5.0, 0.0)}),
        (
            90,
            {17: (3000, 3), 20: (3100, 3), 23: (50, 2), 25: (60, 2), 31: (6610700, 3), 34: (10, 2), 36: (20, 2)},
            {"kind": "view", "steps": (3000.0, 3100.0), "offset": (40, 40), "height": 6.6107},
        ),
    ],
)
def test_numbers_of_grids_of_edition_1(kind: int, places: Places, wanted: dict[str, Any]) -> None:
    found = parameters.numbers_of(1, grid1(kind, places))
    assert {name: getattr(found, name) for name in wanted} == wanted


# ------------------------------------------------------------------------------------------------------ foreign codecs


@pytest.mark.parametrize(
    ("name", "configuration", "kind", "words"),
    [
        ("grib", {"var": 5}, InvalidMetadata, "var: 5 is not a string"),
        ("grib", {"north_up": True}, InvalidMetadata, "unknown members ['north_up']"),
        ("gribberish", {"dtype": "<i4"}, InvalidMetadata, "dtype: '<i4' is not possible here"),
        ("gribberish", {"adjust_longitude_range": True}, Unsupported, "with adjust_longitude_range"),
        ("gribberish", {"north_up": True, "var": "latitude"}, Unsupported, "with north_up for coordinates"),
        ("gribberish", {"north_up": True}, InvalidMetadata, "north_up is for arrays of rows and columns"),
        ("byteatlas.grib_grid", {"which": "height"}, InvalidMetadata, "which: 'height' is none of"),
        ("byteatlas.grib2", {"rows": "turned"}, InvalidMetadata, "rows: 'turned' is none of"),
        ("byteatlas.grib2", {"dtype": "<f4"}, InvalidMetadata, "dtype <f4 for an array of float64"),
        ("byteatlas.grib2", {"grid": "0" * 15}, InvalidMetadata, "grid: not 16 hexadecimal digits"),
        ("byteatlas.grib2", {"field": 65537}, InvalidMetadata, "field: 65537 is not 0 to 65536"),
    ],
)
def test_configurations_that_are_refused(name: str, configuration: dict[str, Any], kind: Any, words: str) -> None:
    with fault(kind, words):
        chain((name, configuration), dtype="f8", shape=(8,))


def test_coordinates_of_a_damaged_message() -> None:
    target = chain(("byteatlas.grib_grid", {"which": "latitude"}), dtype="f8", shape=(8,))
    with fault(CorruptChunk, "grib: byte 0: a message begins with GRIB"):
        target.decode(bytes(20))
