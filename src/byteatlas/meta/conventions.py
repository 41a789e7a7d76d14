"""Geospatial conventions in attributes: where an array lies on the Earth, and which resolutions a group has.

`georeference` understands, in this order: GDAL's ``_CRS``; the Zarr conventions ``spatial:`` and ``proj:`` on the array
or on the nearest group above it; CF grid mappings (with GDAL's ``GeoTransform`` and ``spatial_ref``). A transform that
none of them gives is taken from regular one-dimensional coordinates. CRSs are returned as they are stored: nothing here
knows any projection. `levels` reads the multiscales convention and OME-Zarr.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.meta.affine import Affine
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON
from byteatlas.values import dataclass

MULTISCALES = "d35379db-88df-4056-af3a-620245f8e347"
SPATIAL = "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4"
PROJ = "f17cb550-5864-4468-aeb7-f3180cfb622f"
"""Identifiers of the conventions in ``zarr_conventions``."""
X_NAMES, Y_NAMES = ("x", "lon", "longitude", "easting"), ("y", "lat", "latitude", "northing")
REGULAR = 1e-6
"""Largest deviation from equal steps, relative to a step, of coordinates that count as regular."""

Attributes = Mapping[str, JSON]


CRSKind: TypeAlias = Literal["wkt", "projjson", "code", "url", "cf"]
GDAL_CRS: tuple[tuple[str, CRSKind], ...] = (("url", "url"), ("wkt", "wkt"), ("projjson", "projjson"))
"""Members of GDAL's ``_CRS`` attribute."""
PROJ_CRS: tuple[tuple[str, CRSKind], ...] = (("proj:code", "code"), ("proj:wkt2", "wkt"), ("proj:projjson", "projjson"))
"""Attributes of the ``proj:`` convention."""


@dataclass(frozen=True, slots=True)
class CRS:
    """A coordinate reference system as it is stored.

    Attributes:
        kind: ``wkt``, ``projjson`` (value: an object), ``code`` (such as ``EPSG:4326``), ``url``, or ``cf`` (value: the
            attributes of a grid mapping variable without WKT).
    """

    kind: CRSKind
    value: JSON


@dataclass(frozen=True, slots=True)
class Georeference:
    """Where an array lies. ``dimensions`` are its (y, x) axes by name; ``source``: what gave the CRS."""

    crs: CRS | None
    transform: Affine | None
    dimensions: tuple[str, str] | None
    source: str | None


def georeference(
    meta: ArrayMeta,
    *,
    groups: Sequence[Attributes] = (),
    siblings: Mapping[str, Attributes] | None = None,
    coordinate: Callable[[str], NDArray[Any] | None] | None = None,
) -> Georeference:
    """The CRS and the affine transform of an array.

    Args:
        groups: attributes of the groups above it, nearest first.
        siblings: attributes of the arrays beside it, for CF grid mappings.
        coordinate: gives the values of a one-dimensional sibling by name, or None.
    """
    own = meta.attributes
    mapping = _grid_mapping(own, siblings or {})
    crs, source = _crs(own, groups, mapping)
    dims = _dimensions(meta, (own, *groups))
    transform = _spatial_transform((own, *groups)) or _geotransform(mapping)
    if transform is None and dims is not None and coordinate is not None:
        transform = from_coordinates(coordinate(dims[1]), coordinate(dims[0]))
    return Georeference(crs, transform, dims, source)


# ------------------------------------------------------------------------------------------------------ CRS


def _crs(own: Attributes, groups: Sequence[Attributes], mapping: Attributes | None) -> tuple[CRS | None, str | None]:
    gdal = own.get("_CRS")
    if isinstance(gdal, dict):
        for key, kind in GDAL_CRS:
            if gdal.get(key):
                return CRS(kind, gdal[key]), "_CRS"
    for attributes in (own, *groups):
        for key, kind in PROJ_CRS:
            if attributes.get(key):
                return CRS(kind, attributes[key]), "proj:"
    if mapping is None:
        return None, None
    for key in ("crs_wkt", "spatial_ref"):
        if isinstance(mapping.get(key), str) and mapping[key]:
            return CRS("wkt", mapping[key]), "CF"
    if isinstance(mapping.get("epsg_code"), (str, int)):
        code = str(mapping["epsg_code"])
        return CRS("code", code if ":" in code else f"EPSG:{code}"), "CF"
    if mapping.get("grid_mapping_name"):
        return CRS("cf", dict(mapping)), "CF"
    return None, None


def _grid_mapping(own: Attributes, siblings: Mapping[str, Attributes]) -> Attributes | None:
    """Attributes of the grid mapping variable; the extended form (``crs: x y``) names it before a colon (CF 5.6)."""
    named = own.get("grid_mapping")
    if not isinstance(named, str) or not named.strip():
        return None
    first = named.split()[0].rstrip(":")
    return siblings.get(first)


# ------------------------------------------------------------------------------------------------------ transform


def _numbers(value: JSON, count: int) -> list[float] | None:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        return None
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x) for x in value):
        return None
    return [float(x) for x in value]


def _spatial_transform(levels: Sequence[Attributes]) -> Affine | None:
    for attributes in levels:
        found = _numbers(attributes.get("spatial:transform"), 6)
        if found is not None and attributes.get("spatial:transform_type", "affine") == "affine":
            affine = Affine(*found)
            if attributes.get("spatial:registration", "pixel") == "node":
                # The transform then is that of pixel centres.
                x, y = affine.of(-0.5, -0.5)
                return Affine(affine.a, affine.b, x, affine.d, affine.e, y)
            return affine
    return None


def _geotransform(mapping: Attributes | None) -> Affine | None:
    """GDAL's attribute of a grid mapping: ``c a b f d e`` as text."""
    text = None if mapping is None else mapping.get("GeoTransform")
    if not isinstance(text, str):
        return None
    try:
        found = _numbers([float(x) for x in text.split()], 6)
    except ValueError:
        return None
    if found is None:
        return None
    c, a, b, f, d, e = found
    return Affine(a, b, c, d, e, f)


def from_coordinates(x: NDArray[Any] | None, y: NDArray[Any] | None) -> Affine | None:
    """The transform of a grid whose pixel centres have these coordinates; None unless both are regular.

    >>> from_coordinates(np.array([0.5, 1.5]), np.array([9.0, 7.0]))
    Affine(a=1.0, b=0.0, c=0.0, d=0.0, e=-2.0, f=10.0)
    """
    steps = [step_of(axis) for axis in (x, y)]
    if x is None or y is None or steps[0] is None or steps[1] is None:
        return None
    dx, dy = steps[0], steps[1]
    return Affine(dx, 0.0, float(x[0]) - dx / 2, 0.0, dy, float(y[0]) - dy / 2)


def step_of(axis: NDArray[Any] | None) -> float | None:
    """The step of even coordinates; None for others."""
    if axis is None or axis.ndim != 1 or len(axis) < 2 or axis.dtype.kind not in "iuf":
        return None
    values = axis.astype(np.float64)
    step = (values[-1] - values[0]) / (len(values) - 1)
    if not math.isfinite(step) or step == 0:
        return None
    even = values[0] + step * np.arange(len(values))
    # Coordinates stored as float32 are only as even as their precision.
    slack = REGULAR * abs(step) + (2 * np.finfo(axis.dtype).eps * np.abs(values).max() if axis.dtype.kind == "f" else 0)
    return float(step) if bool((np.abs(values - even) <= slack).all()) else None


def _dimensions(meta: ArrayMeta, levels: Sequence[Attributes]) -> tuple[str, str] | None:
    for attributes in levels:
        given = attributes.get("spatial:dimensions")
        if isinstance(given, list) and len(given) >= 2 and all(isinstance(n, str) for n in given):
            return given[-2], given[-1]
    names = [n for n in meta.dimension_names or () if n is not None]
    x = [n for n in names if n.lower() in X_NAMES]
    y = [n for n in names if n.lower() in Y_NAMES]
    return (y[-1], x[-1]) if x and y else None


# ------------------------------------------------------------------------------------------------------ multiscales


@dataclass(frozen=True, slots=True)
class PyramidLevel:
    """One resolution of a group.

    Attributes:
        path: of the array or group, below the group that has the attribute.
        derived_from: the level that this one was made from, None for the finest.
        scale, translation: per dimension, relative to ``derived_from`` (multiscales) or absolute (OME-Zarr).
    """

    path: str
    derived_from: str | None = None
    scale: tuple[float, ...] | None = None
    translation: tuple[float, ...] | None = None
    resampling: str | None = None


def levels(attributes: Attributes) -> tuple[PyramidLevel, ...]:
    """The resolutions of a group, finest first as a rule; empty when no convention is in use."""
    found = attributes.get("multiscales")
    if isinstance(found, dict):
        layout = found.get("layout")
        return tuple(_level(item, found) for item in layout if _has_asset(item)) if isinstance(layout, list) else ()
    inner = attributes.get("ome")
    if isinstance(inner, dict):
        found = inner.get("multiscales")
    if isinstance(found, list) and found and isinstance(found[0], dict):
        datasets = found[0].get("datasets")
        if isinstance(datasets, list):
            return tuple(_ome_level(d) for d in datasets if isinstance(d, dict) and isinstance(d.get("path"), str))
    return ()


def _has_asset(item: JSON) -> bool:
    return isinstance(item, dict) and isinstance(item.get("asset"), str)


def _floats(value: JSON) -> tuple[float, ...] | None:
    found = _numbers(value, len(value)) if isinstance(value, list) else None
    return None if found is None else tuple(found)


def _level(item: Mapping[str, JSON], whole: Mapping[str, JSON]) -> PyramidLevel:
    transform = item.get("transform")
    known: Mapping[str, JSON] = transform if isinstance(transform, dict) else {}
    method = item.get("resampling_method", whole.get("resampling_method"))
    source = item.get("derived_from")
    return PyramidLevel(
        str(item["asset"]),
        source if isinstance(source, str) else None,
        _floats(known.get("scale")),
        _floats(known.get("translation")),
        method if isinstance(method, str) and isinstance(source, str) else None,
    )


def _ome_level(item: Mapping[str, JSON]) -> PyramidLevel:
    scale = translation = None
    steps = item.get("coordinateTransformations")
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and step.get("type") == "scale":
            scale = _floats(step.get("scale"))
        elif isinstance(step, dict) and step.get("type") == "translation":
            translation = _floats(step.get("translation"))
    return PyramidLevel(str(item["path"]), None, scale, translation)
