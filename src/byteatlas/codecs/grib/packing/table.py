"""Decoders of packings, by edition and name; `docs/status/grib-packings.md` has the same table, and a test compares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from byteatlas.codecs.grib.packing import bifourier, complex, images, matrix, plain, second_order, simple, spectral
from byteatlas.codecs.grib.packing.coded import Coded, Floats

Unpacker: TypeAlias = Callable[[Coded], Floats]

EDITION1: Mapping[str, Unpacker] = {
    "grid_simple": simple.decode1,
    "grid_simple_matrix": matrix.decode1,
    "grid_ieee": plain.decode_ieee1,
    "grid_second_order": second_order.decode_extended,
    "grid_second_order_no_SPD": second_order.decode_extended,
    "grid_second_order_row_by_row": second_order.decode_rows,
    "grid_second_order_constant_width": second_order.decode_constant_width,
    "grid_second_order_general_grib1": second_order.decode_general,
    "spectral_simple": spectral.decode_simple,
    "spectral_complex": spectral.decode_complex,
}
"""Names are ecCodes'; ``grid_second_order`` stands for differences of orders 1 to 3."""

EDITION2: Mapping[int, Unpacker] = {
    0: simple.decode2,
    1: matrix.decode2,
    2: complex.decode,
    3: complex.decode,
    4: plain.decode_ieee2,
    40: images.decode_jpeg2000,
    41: images.decode_png,
    42: images.decode_ccsds,
    50: spectral.decode_simple,
    51: spectral.decode_complex,
    53: bifourier.decode,
    61: plain.decode_log,
    200: plain.decode_runs,
    40000: images.decode_jpeg2000,
    40010: images.decode_png,
    50000: spectral.decode_ieee,
    50001: second_order.decode_extended2,
    50002: second_order.decode_extended2,
}
"""By data representation template."""


def decoder(edition: int, name: str, template: int | None) -> Unpacker | None:
    """The decoder of a packing; None when there is none."""
    if edition == 1:
        return EDITION1.get(name)
    return None if template is None else EDITION2.get(template)
