"""Latitude and longitude of every point of a grid: computed when they are read, not stored.

The chunk is the beginning of a message, as far as its grid section goes; the codec makes the coordinates of it.
"""

from __future__ import annotations

import numpy as np

from byteatlas.manifest.model import VirtualArray, single_source
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.scanning.grib import can_make
from byteatlas.types import JSON
from byteatlas_scanners.grib.cubes.arrays import Storage
from byteatlas_scanners.grib.cubes.datum import Datum
from byteatlas_scanners.grib.grids.coordinates import LATITUDE, LONGITUDE
from byteatlas_scanners.grib.grids.model import LATLON

CODEC = "byteatlas.grib_grid"
KINDS = frozenset({
    "rotated_ll", "rotated_gg", "reduced_gg", "reduced_ll", "healpix", "reduced_rotated_gg", "mercator",
    "polar_stereographic", "lambert", "lambert_azimuthal_equal_area", "transverse_mercator", "space_view",
})  # fmt: skip
"""Grids whose points the codec knows, other than those with one latitude for a row."""
HEADS = {1: 8, 2: 16}
"""Octets of section 0."""


def computed_points(datum: Datum, storage: Storage) -> dict[str, VirtualArray]:
    """``latitude`` and ``longitude`` of a field's points; nothing for grids of rows and columns of one each.

    Points of rows that run to and fro have none: one axis would not be right for them.
    """
    grid = datum.grid
    if grid.kind not in KINDS or set(grid.dims) == set(LATLON) or (grid.alternates and not storage.straight):
        return {}
    if grid.kind.startswith("reduced") and sum(grid.rows) != grid.shape[0]:
        return {}  # a part of the globe, whose rows the list does not tell
    if not can_make(grid.edition, grid.section):
        return {}
    return {
        "latitude": _computed("latitude", LATITUDE, datum, storage),
        "longitude": _computed("longitude", LONGITUDE, datum, storage),
    }


def _computed(which: str, attributes: dict[str, JSON], datum: Datum, storage: Storage) -> VirtualArray:
    grid, placed = datum.grid, datum.placed
    field, message = placed.field, placed.message
    length = message.length
    if not field.number:  # section 1, and 2 where there is one, are before the grid
        before = field.identification + (field.local if grid.edition == 2 else b"")
        length = min(length, HEADS[grid.edition] + len(before) + len(field.grid))
    configuration: dict[str, JSON] = {"which": which, "grid": grid.key}
    if field.number:
        configuration["field"] = field.number
    meta = ArrayMeta(
        shape=grid.shape,
        data_type=from_numpy(np.dtype("f8")),
        grid=RegularGrid(grid.shape),
        encodings=(Encoding((CodecSpec(CODEC, configuration),)),),
        fill_value=np.float64(np.nan),
        dimension_names=grid.dims,
        attributes=attributes,
        zarr_format=3,
    )
    place = np.array([message.offset], np.uint64), np.array([length], np.uint64)
    return VirtualArray(meta, single_source((1,) * len(grid.shape), storage.source, *place))
