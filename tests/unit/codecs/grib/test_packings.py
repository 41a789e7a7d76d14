"""Every packing, value by value and bit by bit as ecCodes reads it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.codecs.grib import built, oracle

from byteatlas.codecs.grib import fields
from byteatlas.errors import CorruptChunk

WIDTHS = (1, 7, 12, 16, 24)
EDITION2 = (
    "grid_simple", "grid_complex", "grid_complex_spatial_differencing", "grid_ieee", "grid_jpeg", "grid_ccsds",
    "grid_second_order", "grid_second_order_no_boustrophedonic", "grid_simple_log_preprocessing",
)  # fmt: skip
EDITION1 = (
    "grid_simple", "grid_ieee", "grid_second_order", "grid_second_order_no_SPD", "grid_second_order_SPD1",
    "grid_second_order_SPD3", "grid_second_order_no_boustrophedonic", "grid_second_order_boustrophedonic",
    "grid_simple_matrix",
)  # fmt: skip


def ours(data: bytes, size: int) -> NDArray[np.float64]:
    found = fields.message(data)
    return fields.values(data, found.edition, found.fields[0], size)


def same_bits(data: bytes) -> None:
    """Ours are ecCodes' values, and where there are none, there are none."""
    wanted = oracle.expected(data)
    found = ours(data, len(wanted))
    assert np.array_equal(np.isnan(found), np.isnan(wanted))
    there = ~np.isnan(wanted)
    assert np.array_equal(found[there].view(np.uint64), wanted[there].view(np.uint64))


def packed(sample: str, packing: str, width: int, missing: bool, **keys: Any) -> bytes:
    ec = oracle.eccodes()
    with oracle.handle(sample) as made:
        count = ec.codes_get_size(made, "values")
        ec.codes_set_values(made, oracle.field_values(count))
        ec.codes_set(made, "packingType", packing)
        for key, value in keys.items():
            ec.codes_set(made, key, value)
        if width:
            ec.codes_set(made, "bitsPerValue", width)
        if missing:
            ec.codes_set(made, "missingValue", oracle.MISSING)
            ec.codes_set(made, "bitmapPresent", 1)
        values = oracle.field_values(count, missing)
        if not width:
            values[values != oracle.MISSING] = 277.5
        ec.codes_set_values(made, values)
        return oracle.message(made)


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "bitmap"])
@pytest.mark.parametrize("width", [*WIDTHS, 0])
@pytest.mark.parametrize("packing", EDITION2)
def test_edition_2(packing: str, width: int, missing: bool) -> None:
    if packing == "grid_ccsds" and width == 1 and missing:
        width = 2
    same_bits(packed("regular_ll_sfc_grib2", packing, width, missing))


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "bitmap"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("width", WIDTHS)
def test_differences(width: int, order: int, missing: bool) -> None:
    packing = "grid_complex_spatial_differencing"
    same_bits(packed("regular_ll_sfc_grib2", packing, width, missing, orderOfSpatialDifferencing=order))


@pytest.mark.parametrize("width", [8, 16, 24, 32])
def test_png(width: int) -> None:
    same_bits(built.png(width))


@pytest.mark.parametrize("missing", [False, True], ids=["whole", "bitmap"])
@pytest.mark.parametrize("width", [*WIDTHS, 0])
@pytest.mark.parametrize("packing", EDITION1)
def test_edition_1(packing: str, width: int, missing: bool) -> None:
    same_bits(packed("regular_ll_sfc_grib1", packing, width, missing))


@pytest.mark.parametrize("width", [12, 16, 24])
@pytest.mark.parametrize("packing", ["spectral_simple", "spectral_complex"])
@pytest.mark.parametrize("sample", ["sh_sfc_grib1", "sh_ml_grib2"])
def test_spectral(sample: str, packing: str, width: int) -> None:
    same_bits(packed(sample, packing, width, missing=False))


@pytest.mark.parametrize(
    ("layout", "boustrophedonic"), [("constant", False), ("constant", True), ("general", False), ("rows", False)]
)
def test_second_order_of_the_wmo(layout: str, boustrophedonic: bool) -> None:
    same_bits(built.second_order(layout, boustrophedonic))


def test_run_length() -> None:
    same_bits(built.run_length())


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("management", [0, 1, 2])
def test_missing_values_inside_of_complex_packing(management: int, order: int) -> None:
    data = built.complex_missing(management, order)
    same_bits(data)
    assert bool(np.isnan(ours(data, 496)).any()) == bool(management)


def test_a_field_of_another_size_is_refused() -> None:
    data = packed("regular_ll_sfc_grib2", "grid_simple", 12, missing=False)
    with pytest.raises(CorruptChunk, match="496 points where the chunk has 495 values"):
        ours(data, 495)


@pytest.mark.parametrize("sample", ["regular_ll_sfc_grib1", "regular_ll_sfc_grib2"])
def test_a_message_that_is_cut_off_is_refused(sample: str) -> None:
    data = packed(sample, "grid_simple", 12, missing=True)
    for length in (0, 3, 8, 40, 200, len(data) - 1):
        with pytest.raises(CorruptChunk):
            ours(data[:length], 496)
