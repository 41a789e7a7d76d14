"""The grid that the arrays of an item share: ``proj:`` fields (STAC projection extension 2.0.0)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from byteatlas.array import Array, Group
from byteatlas.array.geo import georeference_of
from byteatlas.errors import BadRequest
from byteatlas.meta.affine import Affine
from byteatlas.meta.conventions import CRS, Georeference
from byteatlas.stac.extent import DegreeBox, around
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass

WKT2 = re.compile(r"\s*(GEOGCRS|GEODCRS|GEODETICCRS|GEOGRAPHICCRS|PROJCRS|PROJECTEDCRS|BOUNDCRS|COMPOUNDCRS)\s*\[")
CODE = re.compile(r'(?:AUTHORITY\["(EPSG)","(\d+)"\]|ID\["(EPSG)",(\d+)\])\]\s*$')
URL = re.compile(r"/def/crs/([A-Za-z]+)/[^/]*/(\w+)/?$")
EDGE = 201
"""Points along each edge that are projected: edges are no straight lines in degrees."""


@dataclass(frozen=True, slots=True)
class RasterGrid:
    """One grid: its rows and columns, and where it lies. ``geographic``: its coordinates are degrees already."""

    shape: tuple[int, int]
    where: Georeference


def grid_of(root: Group, arrays: Mapping[str, Array]) -> RasterGrid | None:
    """The grid of the rasters among arrays; None where there is none, or where they differ."""
    found: list[RasterGrid] = []
    for path, array in arrays.items():
        if array.ndim < 2:
            continue
        where = georeference_of(root, path)
        shape = _shape(array.dims or (), array.shape, where)
        if shape is not None and where.transform is not None:
            found.append(RasterGrid(shape, where))
    return found[0] if found and all(_key(g) == _key(found[0]) for g in found) else None


def _shape(dims: tuple[str | None, ...], shape: Shape, where: Georeference) -> tuple[int, int] | None:
    if where.dimensions is None or not set(where.dimensions) <= set(dims):
        return None
    y, x = (shape[dims.index(name)] for name in where.dimensions)
    return y, x


def _key(grid: RasterGrid) -> tuple[object, ...]:
    return grid.shape, grid.where.transform, repr(grid.where.crs)


def fields_of(grid: RasterGrid) -> dict[str, JSON]:
    """``proj:`` fields of a grid."""
    t, crs = grid.where.transform, grid.where.crs
    assert t is not None
    found: dict[str, JSON] = {} if crs is None else crs_fields(crs)
    found["proj:shape"] = [*grid.shape]
    found["proj:transform"] = [t.a, t.b, t.c, t.d, t.e, t.f]
    x, y = zip(*_outline(t, grid.shape), strict=True)
    found["proj:bbox"] = [min(x), min(y), max(x), max(y)]
    return found


def crs_fields(crs: CRS) -> dict[str, JSON]:
    """How an item names a CRS: by a code where it has one. CF's own parameters and older WKT have no field there."""
    match crs.kind, crs.value:
        case "code", str(text):
            return {"proj:code": text}
        case "url", str(text):
            found = URL.search(text)
            return {} if found is None else {"proj:code": f"{found[1].upper()}:{found[2]}"}
        case "projjson", dict(document):
            return {"proj:projjson": document}
        case "wkt", str(text):
            found = CODE.search(text)
            if found is not None:
                return {"proj:code": f"EPSG:{found[2] or found[4]}"}
            return {"proj:wkt2": text} if WKT2.match(text) else {}
    return {}


def projected_box(grid: RasterGrid) -> DegreeBox:
    """The box of a grid in degrees, by pyproj. Raises `BadRequest` where that is not there, or knows no such CRS."""
    crs, t = grid.where.crs, grid.where.transform
    hint = "give its bounding box: bbox=(west, south, east, north), or --bbox"
    assert t is not None
    if crs is None:
        raise BadRequest(f"the data lie on a grid without longitudes, latitudes and reference system; {hint}")
    try:
        import numpy as np
        import pyproj
    except ImportError as error:
        raise BadRequest(f"the coordinates are projected: install pyproj, or {hint}") from error
    try:
        known = pyproj.CRS.from_cf(crs.value) if crs.kind == "cf" else pyproj.CRS.from_user_input(crs.value)
        to_degrees = pyproj.Transformer.from_crs(known, "OGC:CRS84", always_xy=True)
        x, y = zip(*_outline(t, grid.shape, EDGE), strict=True)
        longitudes, latitudes = to_degrees.transform(np.array(x), np.array(y), errcheck=True)
    except (pyproj.exceptions.ProjError, KeyError, TypeError, ValueError) as error:
        raise BadRequest(f"the coordinates are of a reference system that pyproj does not know; {hint}") from error
    if not (np.isfinite(longitudes).all() and np.isfinite(latitudes).all()):
        raise BadRequest(f"the grid reaches beyond the Earth; {hint}")
    west, east = around(longitudes)
    south, north = float(latitudes.min()), float(latitudes.max())
    poles = [pole for pole in (-90.0, 90.0) if _inside(grid, *to_degrees.transform(0.0, pole, direction="INVERSE"))]
    if poles:
        west, east = -180.0, 180.0
    return west, min([south, *poles]), east, max([north, *poles])


def _inside(grid: RasterGrid, x: float, y: float) -> bool:
    """Whether a point lies on the grid."""
    t = grid.where.transform
    assert t is not None
    scale = t.a * t.e - t.b * t.d
    if not (math.isfinite(x) and math.isfinite(y)) or not scale:
        return False
    column, row = (t.e * (x - t.c) - t.b * (y - t.f)) / scale, (t.a * (y - t.f) - t.d * (x - t.c)) / scale
    return 0 <= column <= grid.shape[1] and 0 <= row <= grid.shape[0]


def _outline(t: Affine, shape: tuple[int, int], points: int = 2) -> list[tuple[float, float]]:
    """Points of the grid's outline, corners included."""
    rows, columns = shape
    parts = [i / (points - 1) for i in range(points)]
    sides = [(p, q) for p in parts for q in (0.0, 1.0)]
    return [t.of(u * columns, v * rows) for u, v in [*sides, *((q, p) for p, q in sides)]]
