"""Coordinate reference systems from GeoKeys: PROJJSON, from it WKT 2 (ISO 19162:2019), and a CF grid mapping.

An EPSG code is always passed on (``spatial_ref: EPSG:n``); definitions are written out where the keys hold them, or
where the code is in `epsg`. What cannot be expressed is left to the raw keys, which are kept as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs import epsg
from byteatlas_scanners.tiff.crs.cf import cf_geographic, cf_projected
from byteatlas_scanners.tiff.crs.epsg import ANGULAR_UNITS, ELLIPSOIDS, GEOGRAPHIC, LINEAR_UNITS, PARAMETERS, Method
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys
from byteatlas_scanners.tiff.crs.methods import conversion_of
from byteatlas_scanners.tiff.crs.wkt import DEGREE, to_wkt

SCHEMA = "https://proj.org/schemas/v0.7/projjson.schema.json"
MODEL_PROJECTED, MODEL_GEOGRAPHIC = 1, 2
ESRI_WEB_MERCATOR = "WGS_1984_Web_Mercator_Auxiliary_Sphere"
"""How ArcGIS names Web Mercator; it gives no code and no method that GeoTIFF knows."""


@dataclass(frozen=True, slots=True)
class Crs:
    """A coordinate reference system.

    Attributes:
        kind: ``projected``, ``geographic`` or ``unknown``.
        projjson: its definition, or None where only the code or nothing is known.
        unit_name: of the coordinates, as UDUNITS spells it.
        cf: CF grid mapping attributes.
        raw: the keys themselves.
    """

    kind: str
    name: str
    code: int | None
    projjson: JSON | None
    unit_name: str
    cf: Mapping[str, JSON] = field(default_factory=dict)
    raw: Mapping[str, JSON] = field(default_factory=dict)

    def attributes(self) -> dict[str, JSON]:
        """Attributes of the grid mapping variable: CF's, GDAL's and rioxarray's."""
        found: dict[str, JSON] = dict(self.cf)
        if self.projjson is not None:
            text = to_wkt(self.projjson)
            found |= {"crs_wkt": text, "spatial_ref": text, "projjson": {"$schema": SCHEMA, **self.projjson}}
        elif self.code is not None:
            found["spatial_ref"] = f"EPSG:{self.code}"
        if self.code is not None:
            found["proj:code"] = f"EPSG:{self.code}"
        found["geokeys"] = dict(self.raw)
        return found


def describe(keys: Keys) -> Crs | None:
    """The system that the keys describe, or None when they describe none."""
    raw: dict[str, JSON] = {_key_name(k): v for k, v in {**keys.numbers, **keys.texts}.items()}
    model = keys.number(GeoKey.GT_MODEL_TYPE)
    code = keys.code(GeoKey.PROJECTED_CRS)
    citations = " ".join(keys.text(k) or "" for k in (GeoKey.GT_CITATION, GeoKey.PROJECTED_CITATION))
    if code is None and ESRI_WEB_MERCATOR in citations:
        return _by_code(3857, keys, raw)
    user_projected = keys.number(GeoKey.METHOD) is not None or keys.code(GeoKey.PROJECTION) is not None
    if model == MODEL_PROJECTED or (model is None and code is not None):
        if code is not None:
            return _by_code(code, keys, raw)
        if user_projected:
            return _user_projected(keys, raw)
    base = _geographic(keys)
    if base is not None and model in (MODEL_GEOGRAPHIC, None):
        geodetic = keys.code(GeoKey.GEODETIC_CRS)
        return Crs("geographic", str(base["name"]), geodetic, base, "degree", cf_geographic(base), raw)
    geodetic = keys.code(GeoKey.GEODETIC_CRS)
    if geodetic is not None and model in (MODEL_GEOGRAPHIC, None):
        return Crs("geographic", f"EPSG:{geodetic}", geodetic, None, "degree", raw=raw)
    citation = keys.text(GeoKey.GT_CITATION) or keys.text(GeoKey.PROJECTED_CITATION) or "unknown"
    return Crs("unknown", citation, None, None, "1", raw=raw) if raw else None


def _key_name(number: int) -> str:
    try:
        return GeoKey(number).name.lower()
    except ValueError:
        return str(number)


def _by_code(code: int, keys: Keys, raw: Mapping[str, JSON]) -> Crs:
    known = epsg.projected(code)
    unit = _linear_unit(keys)
    if known is None:
        name = keys.text(GeoKey.PROJECTED_CITATION) or keys.text(GeoKey.GT_CITATION) or f"EPSG:{code}"
        return Crs("projected", name, code, None, _udunits(unit), raw=raw)
    base = _registered(known.base)
    if keys.code(GeoKey.LINEAR_UNITS) in (None, known.unit):
        unit = LINEAR_UNITS[known.unit]
    definition = _projected(known.name, base, known.conversion, known.method, known.values, LINEAR_UNITS[known.unit])
    if unit != LINEAR_UNITS[known.unit]:
        # Coordinates in another unit than the registered system's: GDAL makes it a system of its own, without a code.
        # False easting and northing stay in the registered unit.
        length = _unit_json(unit, "LinearUnit")
        axes = [{**axis, "unit": length} for axis in definition["coordinate_system"]["axis"]]
        definition["coordinate_system"] = {"subtype": "Cartesian", "axis": axes}
        cf = cf_projected(base, known.method, known.values)
        return Crs("projected", known.name, None, definition, _udunits(unit), cf, raw)
    definition["id"] = _id(code)
    return Crs(
        "projected", known.name, code, definition, _udunits(unit), cf_projected(base, known.method, known.values), raw
    )


def _id(code: int) -> dict[str, JSON]:
    return {"authority": "EPSG", "code": code}


def _udunits(unit: tuple[str, float]) -> str:
    return {"metre": "m", "US survey foot": "US_survey_foot", "kilometre": "km"}.get(unit[0], unit[0])


def _linear_unit(keys: Keys) -> tuple[str, float]:
    code = keys.code(GeoKey.LINEAR_UNITS)
    size = keys.number(GeoKey.LINEAR_UNIT_SIZE)
    if code is not None and code in LINEAR_UNITS:
        return LINEAR_UNITS[code]
    return ("metre", 1.0) if size is None or not size > 0 else ("unknown", float(size))


def _angular_unit(keys: Keys) -> tuple[str, float]:
    code = keys.code(GeoKey.ANGULAR_UNITS)
    size = keys.number(GeoKey.ANGULAR_UNIT_SIZE)
    if code is not None and code in ANGULAR_UNITS:
        return ANGULAR_UNITS[code]
    return DEGREE if size is None or not size > 0 else ("unknown", float(size))


# Geographic systems ---------------------------------------------------------------------------------------------------


def _registered(code: int) -> dict[str, JSON]:
    name, datum, ellipsoid = GEOGRAPHIC[code]
    found = _geographic_json(name, datum, _ellipsoid_json(*ELLIPSOIDS[ellipsoid]), DEGREE, None)
    found["id"] = _id(code)
    return found


def _geographic(keys: Keys) -> dict[str, JSON] | None:
    """The geographic system: by its code, or from its ellipsoid; None when the keys give neither."""
    code = keys.code(GeoKey.GEODETIC_CRS)
    if code is not None and code in GEOGRAPHIC:
        return _registered(code)
    if code is not None:
        return None
    datum = keys.code(GeoKey.GEODETIC_DATUM)
    known = GEOGRAPHIC.get(datum - 2000) if datum is not None else None
    ellipsoid = _ellipsoid(keys, known)
    if ellipsoid is None:
        return None
    name = keys.text(GeoKey.GEODETIC_CITATION) or (known[0] if known else "unknown")
    datum_name = known[1] if known else "unknown"
    prime = keys.number(GeoKey.PRIME_MERIDIAN_LONGITUDE)
    return _geographic_json(name, datum_name, ellipsoid, _angular_unit(keys), prime or None)


def _ellipsoid(keys: Keys, known: tuple[str, str, int] | None) -> dict[str, JSON] | None:
    code = keys.code(GeoKey.ELLIPSOID)
    if code is not None and code in ELLIPSOIDS:
        return _ellipsoid_json(*ELLIPSOIDS[code])
    a, b, f = (keys.number(k) for k in (GeoKey.SEMI_MAJOR, GeoKey.SEMI_MINOR, GeoKey.INVERSE_FLATTENING))
    if a is not None and a > 0 and math.isfinite(a):
        if f is None and b is not None and 0 < b <= a:
            f = 0.0 if a == b else a / (a - b)
        if f is not None and f >= 0:
            return _ellipsoid_json("unknown", float(a), float(f))
    return _ellipsoid_json(*ELLIPSOIDS[known[2]]) if known else None


def _ellipsoid_json(name: str, a: float, f: float) -> dict[str, JSON]:
    if not f:
        return {"name": name, "radius": a}
    return {"name": name, "semi_major_axis": a, "inverse_flattening": f}


def _unit_json(unit: tuple[str, float], kind: str) -> JSON:
    if unit[0] in ("metre", "degree"):
        return unit[0]
    return {"type": kind, "name": unit[0], "conversion_factor": unit[1]}


def _geographic_json(
    name: str, datum: str, ellipsoid: JSON, unit: tuple[str, float], prime: float | None
) -> dict[str, JSON]:
    frame: dict[str, JSON] = {"type": "GeodeticReferenceFrame", "name": datum, "ellipsoid": ellipsoid}
    if prime is not None:
        frame["prime_meridian"] = {"name": "unknown", "longitude": prime}
    angle = _unit_json(unit, "AngularUnit")
    axes = [
        {"name": "Geodetic latitude", "abbreviation": "Lat", "direction": "north", "unit": angle},
        {"name": "Geodetic longitude", "abbreviation": "Lon", "direction": "east", "unit": angle},
    ]
    system = {"subtype": "ellipsoidal", "axis": axes}
    return {"type": "GeographicCRS", "name": name, "datum": frame, "coordinate_system": system}


# Projected systems ----------------------------------------------------------------------------------------------------


def _user_projected(keys: Keys, raw: Mapping[str, JSON]) -> Crs:
    """A projected system spelled out in the keys; without a definition where they do not suffice."""
    name = keys.text(GeoKey.PROJECTED_CITATION) or keys.text(GeoKey.GT_CITATION) or "unknown"
    unit = _linear_unit(keys)
    found = conversion_of(keys)
    base = _geographic(keys)
    if found is None or base is None:
        return Crs("projected", name, None, None, _udunits(unit), raw=raw)
    conversion, method, values = found
    definition = _projected(name, base, conversion, method, values, unit, _angular_unit(keys))
    return Crs("projected", name, None, definition, _udunits(unit), cf_projected(base, method, values, unit[1]), raw)


def _projected(
    name: str,
    base: Mapping[str, JSON],
    conversion: str,
    method: Method,
    values: Mapping[int, float],
    unit: tuple[str, float],
    angle: tuple[str, float] = DEGREE,
) -> dict[str, JSON]:
    length = _unit_json(unit, "LinearUnit")
    units = {"angle": _unit_json(angle, "AngularUnit"), "length": length, "scale": "unity"}
    parameters = [
        {"name": PARAMETERS[p][0], "value": v, "unit": units[PARAMETERS[p][1]], "id": _id(p)} for p, v in values.items()
    ]
    how: dict[str, JSON] = {"name": method.name}
    if method.code is not None:
        how["id"] = _id(method.code)
    axes = [
        {"name": "Easting", "abbreviation": "E", "direction": "east", "unit": length},
        {"name": "Northing", "abbreviation": "N", "direction": "north", "unit": length},
    ]
    return {
        "type": "ProjectedCRS",
        "name": name,
        "base_crs": dict(base),
        "conversion": {"name": conversion, "method": how, "parameters": parameters},
        "coordinate_system": {"subtype": "Cartesian", "axis": axes},
    }
