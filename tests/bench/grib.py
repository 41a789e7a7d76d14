"""Decoding one GRIB message of 1.9 million points, on one thread, beside ecCodes and gribberish."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.bench.report import Row, interleaved

from byteatlas.codecs.grib import fields

POINTS = (1059, 1799)
PACKINGS: tuple[tuple[str, int, int], ...] = (
    ("grid_simple", 14, 0),
    ("grid_simple", 16, 0),
    ("grid_complex", 14, 0),
    ("grid_complex_spatial_differencing", 14, 1),
    ("grid_complex_spatial_differencing", 14, 2),
    ("grid_jpeg", 14, 0),
    ("grid_png", 16, 0),
    ("grid_ccsds", 14, 0),
)


def made(packing: str, width: int, order: int) -> bytes:
    """A smooth field with noise."""
    import pyproj  # before ecCodes, whose own copy of PROJ would take its place

    assert pyproj
    import eccodes as ec

    y, x = np.mgrid[: POINTS[0], : POINTS[1]]
    values = 280 + 15 * np.sin(y / 90.0) * np.cos(x / 130.0) + np.random.default_rng(0).normal(0, 0.2, POINTS)
    handle = ec.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    ec.codes_set(handle, "Ni", POINTS[1])
    ec.codes_set(handle, "Nj", POINTS[0])
    ec.codes_set(handle, "bitsPerValue", width)
    ec.codes_set_values(handle, values.reshape(-1))
    if packing != "grid_simple":
        ec.codes_set(handle, "packingType", packing)
        if order:
            ec.codes_set(handle, "orderOfSpatialDifferencing", order)
        ec.codes_set_values(handle, values.reshape(-1))
    data: bytes = ec.codes_get_message(handle)
    ec.codes_release(handle)
    return data


def decoders(data: bytes) -> Mapping[str, Callable[[], Any]]:
    """Who decodes this message."""
    import eccodes as ec
    import gribberish

    def ours() -> Any:
        found = fields.message(data)
        return fields.values(data, found.edition, found.fields[0], POINTS[0] * POINTS[1])

    def eccodes() -> Any:
        handle = ec.codes_new_from_message(data)
        values = ec.codes_get_array(handle, "values")
        ec.codes_release(handle)
        return values

    assert np.array_equal(ours(), eccodes())
    return {"byteatlas": ours, "ecCodes": eccodes, "gribberish": lambda: gribberish.parse_grib_array(data, 0)}


def run(folder: Path, scale: Mapping[str, int]) -> list[Row]:
    """A row for each packing and decoder."""
    rows: list[Row] = []
    for packing, width, order in PACKINGS:
        job = f"decode {packing}, {width} bits" + (f", order {order}" if order else "")
        found = dict(decoders(made(packing, width, order)))
        rows += interleaved(job, found, 2 * scale.get("rounds", 3), 8 * POINTS[0] * POINTS[1])
    return rows
