"""Where an image lies on the ground: GeoTIFF 1.1 (OGC 19-008) tags to a transform, coordinates and a grid mapping.

Coordinates are cell centres. For PixelIsPoint files the tie points name centres, else upper left corners: the half
pixel is added exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptFile
from byteatlas.manifest.model import VirtualArray, inline_manifest
from byteatlas.meta.affine import Affine
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import dataclass, replace
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, read_keys
from byteatlas_scanners.tiff.crs.systems import Crs, describe
from byteatlas_scanners.tiff.page import Page
from byteatlas_scanners.tiff.tags import Tag

GRID_MAPPING = "spatial_ref"
LONGEST_AXIS = 1 << 20
"""Coordinates of more cells than this are left to be computed from the transform."""
MAX_GCPS = 10_000
POINT = 2

RPC_FIELDS = (
    ("err_bias", 1), ("err_rand", 1), ("line_off", 1), ("samp_off", 1), ("lat_off", 1), ("long_off", 1),
    ("height_off", 1), ("line_scale", 1), ("samp_scale", 1), ("lat_scale", 1), ("long_scale", 1),
    ("height_scale", 1), ("line_num_coeff", 20), ("line_den_coeff", 20), ("samp_num_coeff", 20), ("samp_den_coeff", 20),
)  # fmt: skip
"""RPCCoefficientTag (RPCs in GeoTIFF), in order."""


@dataclass(frozen=True, slots=True)
class GeoTags:
    """All that a directory says of its place.

    Attributes:
        gcps: (column, row, x, y, z) of each ground control point.
    """

    affine: Affine | None
    crs: Crs | None
    is_point: bool
    gcps: tuple[tuple[float, ...], ...] = ()
    rpc: Mapping[str, JSON] | None = None

    def scaled(self, across: float, down: float) -> GeoTags:
        """Of a level whose cells are so many times larger."""
        if self.affine is None or (across, down) == (1.0, 1.0):
            return self
        t = self.affine
        bigger = Affine(t.a * across, t.b * down, t.c, t.d * across, t.e * down, t.f)
        gcps = tuple((g[0] / across, g[1] / down, *g[2:]) for g in self.gcps)
        return replace(self, affine=bigger, gcps=gcps)

    def attributes(self) -> dict[str, JSON]:
        """What the data array says of it."""
        found: dict[str, JSON] = {"grid_mapping": GRID_MAPPING}
        if self.affine is not None or self.is_point:
            found["AREA_OR_POINT"] = "Point" if self.is_point else "Area"
        return found


def georeference(page: Page) -> GeoTags | None:
    """The place of an image, or None when its tags say nothing usable."""
    keys = read_keys(page.ifd)
    is_point = keys.number(GeoKey.GT_RASTER_TYPE) == POINT
    affine, gcps = _affine(page, is_point), _gcps(page)
    crs = describe(keys) if keys else None
    rpc = _rpc(page)
    if affine is None and not gcps and crs is None and rpc is None:
        return None
    return GeoTags(affine, crs, is_point, () if affine is not None else gcps, rpc)


def _doubles(page: Page, tag: Tag) -> NDArray[np.float64] | None:
    try:
        values = page.ifd.array(tag)
    except CorruptFile:
        return None
    if values is None or values.ndim != 1 or values.dtype.kind != "f" or not np.isfinite(values).all():
        return None
    return values.astype(np.float64)


def _affine(page: Page, is_point: bool) -> Affine | None:
    scale, ties = _doubles(page, Tag.MODEL_PIXEL_SCALE), _doubles(page, Tag.MODEL_TIEPOINT)
    matrix = _doubles(page, Tag.MODEL_TRANSFORMATION)
    found: Affine | None = None
    if scale is not None and len(scale) >= 2 and scale[0] and scale[1] and ties is not None and len(ties) >= 6:
        column, row, _, x, y = (float(v) for v in ties[:5])
        a, e = float(scale[0]), -abs(float(scale[1]))
        found = Affine(a, 0.0, x - column * a, 0.0, e, y - row * e)
    elif matrix is not None and len(matrix) == 16:
        a, b, _, c, d, e, _, f = (float(v) for v in matrix[:8])
        found = Affine(a, b, c, d, e, f)
    if found is None:
        return None
    return found.moved(-0.5, -0.5) if is_point else found


def _gcps(page: Page) -> tuple[tuple[float, ...], ...]:
    ties = _doubles(page, Tag.MODEL_TIEPOINT)
    if ties is None or len(ties) < 12 or len(ties) % 6 or len(ties) > 6 * MAX_GCPS:
        return ()
    return tuple(tuple(p) for p in np.delete(ties.reshape(-1, 6), 2, axis=1).tolist())


def _rpc(page: Page) -> dict[str, JSON] | None:
    values = _doubles(page, Tag.RPC_COEFFICIENTS)
    if values is None or len(values) != sum(n for _, n in RPC_FIELDS):
        return None
    found: dict[str, JSON] = {}
    at = 0
    for name, n in RPC_FIELDS:
        found[name] = values[at : at + n].tolist() if n > 1 else float(values[at])
        at += n
    return found


def coordinates(geo: GeoTags, width: int, height: int) -> dict[str, VirtualArray]:
    """The grid mapping variable, and x and y where the grid is not rotated; all inline."""
    found = {GRID_MAPPING: _inline(np.zeros((), np.int64), (), _mapping_attributes(geo))}
    affine = geo.affine
    if affine is not None and affine.is_rectilinear and max(width, height) <= LONGEST_AXIS:
        x = affine.c + (np.arange(width) + 0.5) * affine.a
        y = affine.f + (np.arange(height) + 0.5) * affine.e
        names = _axis_attributes(geo.crs)
        found["x"] = _inline(x, ("x",), names[0])
        found["y"] = _inline(y, ("y",), names[1])
    return found


def band_labels(names: JSON) -> VirtualArray | None:
    """A coordinate of band names, inline; None when they do not tell all bands apart."""
    if not isinstance(names, list) or not all(names) or len(set(names)) != len(names):
        return None
    return _inline(np.array(names), ("band",), {"long_name": "name of the band"})


def _inline(values: NDArray[np.generic], dims: tuple[str, ...], attributes: Mapping[str, JSON]) -> VirtualArray:
    little = values.astype(values.dtype.newbyteorder("<"))
    meta = ArrayMeta(
        shape=values.shape,
        data_type=from_numpy(values.dtype),
        grid=RegularGrid(values.shape),
        encodings=(Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        dimension_names=dims,
        attributes=attributes,
    )
    return VirtualArray(meta, inline_manifest((1,) * values.ndim, {0: little.tobytes()}))


def _mapping_attributes(geo: GeoTags) -> dict[str, JSON]:
    found: dict[str, JSON] = {} if geo.crs is None else dict(geo.crs.attributes())
    if geo.affine is not None:
        t = geo.affine
        found["GeoTransform"] = " ".join(repr(v) for v in t.gdal)
        found["spatial:transform"] = [t.a, t.b, t.c, t.d, t.e, t.f]
    if geo.gcps:
        found["gcps"] = _geojson(geo.gcps)
    if geo.rpc:
        found["rpc"] = dict(geo.rpc)
    return found


def _geojson(gcps: tuple[tuple[float, ...], ...]) -> JSON:
    """Ground control points as rioxarray writes them."""
    return {
        "type": "FeatureCollection",
        "features": [
            {
                "type": "Feature",
                "properties": {"id": str(i + 1), "info": "", "row": row, "col": column},
                "geometry": {"type": "Point", "coordinates": [x, y, z]},
            }
            for i, (column, row, x, y, z) in enumerate(gcps)
        ],
    }


def _axis_attributes(crs: Crs | None) -> tuple[dict[str, JSON], dict[str, JSON]]:
    if crs is not None and crs.kind == "geographic":
        return (
            {"standard_name": "longitude", "long_name": "longitude", "units": "degrees_east", "axis": "X"},
            {"standard_name": "latitude", "long_name": "latitude", "units": "degrees_north", "axis": "Y"},
        )
    x: dict[str, JSON] = {"axis": "X", "long_name": "x coordinate of projection"}
    y: dict[str, JSON] = {"axis": "Y", "long_name": "y coordinate of projection"}
    if crs is not None and crs.kind == "projected":
        unit = crs.unit_name
        x |= {"standard_name": "projection_x_coordinate", "units": unit}
        y |= {"standard_name": "projection_y_coordinate", "units": unit}
    return x, y
