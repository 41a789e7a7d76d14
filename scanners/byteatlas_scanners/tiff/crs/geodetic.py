"""The geographic system that GeoKeys describe, in PROJJSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.figure import inverse_flattening, semi_major
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys
from byteatlas_scanners.tiff.crs.registry import CRSDocument, Unit

UNKNOWN = "unknown"
SAME_FIGURE = 1e-7
"""Ellipsoids whose numbers differ relatively by less than this are one: files round them."""


ELLIPSOIDAL_HEIGHTS = range(5001, 5034)
"""Vertical systems of GeoTIFF 1.0 that are heights above an ellipsoid (section 6.3.4.1)."""


def angular_unit(keys: Keys) -> Unit:
    code = keys.code(GeoKey.ANGULAR_UNITS)
    known = registry.unit(code) if code is not None else None
    if known is not None:
        return registry.DEGREES if known[1] == registry.DEGREES[1] else known
    size = keys.number(GeoKey.ANGULAR_UNIT_SIZE)
    return registry.DEGREES if size is None or not size > 0 else (UNKNOWN, float(size))


def geodetic(keys: Keys) -> CRSDocument | None:
    """The geographic system: by its code, or from its datum or ellipsoid; None when the keys give neither."""
    code = keys.code(GeoKey.GEODETIC_CRS)
    if code is not None:
        return _registered(code, keys)
    names = _names(keys.text(GeoKey.GEODETIC_CITATION) or "")
    datum = _datum(keys, names)
    if datum is None:
        return None
    name = names.get("GCS Name") or names.get("") or _name_by_datum(keys) or datum["name"]
    return registry.geographic_json(str(name), datum, registry.ellipsoidal_axes(angular_unit(keys)))


def _registered(code: int, keys: Keys) -> CRSDocument | None:
    """A registered system, with the figure of the Earth that the keys give where it is another one."""
    found = registry.geographic(code)
    if found is None:
        return None
    height = keys.code(GeoKey.VERTICAL_CRS)
    if height in ELLIPSOIDAL_HEIGHTS:
        height = registry.code_of_solid(code)
    solid = registry.geographic(height) if height is not None else None
    frame = _frame(found)
    if solid is not None and _frame(solid) == frame and len(solid["coordinate_system"]["axis"]) == 3:
        found = solid  # GeoTIFF 1.0's way to write a system of three dimensions
    figure = _figure(keys, str(frame["ellipsoid"]["name"]))
    if figure is None or _same_figure(figure, frame["ellipsoid"]):
        return found
    own = {"type": "GeodeticReferenceFrame", "name": frame["name"].removesuffix(" ensemble"), "ellipsoid": figure}
    if "prime_meridian" in frame:
        own["prime_meridian"] = frame["prime_meridian"]
    return registry.geographic_json(found["name"], own, found["coordinate_system"])


def _frame(crs: CRSDocument) -> CRSDocument:
    return dict(crs.get("datum") or crs["datum_ensemble"])


def _same_figure(one: Mapping[str, JSON], other: Mapping[str, JSON]) -> bool:
    return math.isclose(semi_major(one), semi_major(other), rel_tol=SAME_FIGURE) and math.isclose(
        inverse_flattening(one), inverse_flattening(other), rel_tol=SAME_FIGURE
    )


def _names(citation: str) -> dict[str, str]:
    """Names as ArcGIS writes them: ``GCS Name = a|Datum = b|Ellipsoid = c|Primem = d``; by "" what has no title."""
    if "|" not in citation and " = " not in citation:
        return {"": citation}
    parts = (part.partition(" = ") for part in citation.split("|"))
    return {(title.strip() if equals else ""): (name if equals else title).strip() for title, equals, name in parts}


def _name_by_datum(keys: Keys) -> str | None:
    """Systems of the first generation have the number of their datum less 2000."""
    datum = keys.code(GeoKey.GEODETIC_DATUM)
    return registry.name_of_geographic(datum - 2000, datum) if datum is not None else None


def _datum(keys: Keys, names: Mapping[str, str]) -> CRSDocument | None:
    code = keys.code(GeoKey.GEODETIC_DATUM)
    known = registry.datum(code) if code is not None else None
    figure = _ellipsoid(keys, names.get("Ellipsoid") or UNKNOWN)
    if known is not None:
        frame = dict(known)
        if figure is None or _same_figure(figure, known["ellipsoid"]):
            return frame
        frame = {"type": "GeodeticReferenceFrame", "name": str(known["name"]).removesuffix(" ensemble")}
    elif figure is not None:
        frame = {"type": "GeodeticReferenceFrame", "name": names.get("Datum") or UNKNOWN}
    else:
        return None
    frame["ellipsoid"] = figure
    meridian = _prime_meridian(keys, names.get("Primem") or UNKNOWN)
    if meridian is not None:
        frame["prime_meridian"] = meridian
    return frame


def _ellipsoid(keys: Keys, name: str) -> CRSDocument | None:
    """By its code, or by its axes; None without either."""
    code = keys.code(GeoKey.ELLIPSOID)
    known = registry.ellipsoid(code) if code is not None else None
    return known if known is not None else _figure(keys, name)


def _figure(keys: Keys, name: str) -> CRSDocument | None:
    a, b, f = (keys.number(k) for k in (GeoKey.SEMI_MAJOR, GeoKey.SEMI_MINOR, GeoKey.INVERSE_FLATTENING))
    if a is None or not a > 0 or not math.isfinite(a):
        return None
    if f is None and b is not None and 0 < b <= a:
        f = 0.0 if a == b else a / (a - b)
    if f is None or not f >= 0:
        return None
    if not f:
        return {"name": name, "radius": float(a)}
    return {"name": name, "semi_major_axis": float(a), "inverse_flattening": float(f)}


def _prime_meridian(keys: Keys, name: str) -> CRSDocument | None:
    code = keys.code(GeoKey.PRIME_MERIDIAN)
    if code == registry.GREENWICH:
        return None
    known = registry.prime_meridian(code) if code is not None else None
    longitude = keys.number(GeoKey.PRIME_MERIDIAN_LONGITUDE)
    if known is None and (longitude or name not in (UNKNOWN, "Greenwich")):
        return {"name": name, "longitude": float(longitude or 0)}
    return known
