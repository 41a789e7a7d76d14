"""Coordinate reference systems from GeoKeys: PROJJSON, from it WKT 2 (ISO 19162:2019), and a CF grid mapping.

An EPSG code is always passed on (``spatial_ref: EPSG:n``); definitions are written out where the keys hold them, or
where the code is in the `registry`. What cannot be expressed is left to the raw keys, which are kept as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas.values import dataclass, field, replace
from byteatlas_scanners.tiff.crs import esri, registry
from byteatlas_scanners.tiff.crs.cf import cf_attributes
from byteatlas_scanners.tiff.crs.geodetic import UNKNOWN, angular_unit, geodetic
from byteatlas_scanners.tiff.crs.geokeys import USER_DEFINED, GeoKey, Keys
from byteatlas_scanners.tiff.crs.projection import axes_of, conversion_of, projected_json
from byteatlas_scanners.tiff.crs.registry import CRSDocument, Unit
from byteatlas_scanners.tiff.crs.wkt import to_wkt

SCHEMA = "https://proj.org/schemas/v0.7/projjson.schema.json"
MODEL_PROJECTED, MODEL_GEOGRAPHIC, MODEL_GEOCENTRIC = 1, 2, 3
MODEL_OWN = USER_DEFINED
"""What GDAL writes beside ArcGIS's text; the other keys hold as they do for the other models."""
NOT_PLANE = (MODEL_GEOGRAPHIC, MODEL_GEOCENTRIC, None)
"""Models that do not say that coordinates are those of a plane."""
METRE: Unit = ("metre", 1.0)
WEB_MERCATOR = 3857
ESRI_WEB_MERCATOR = "WGS_1984_Web_Mercator_Auxiliary_Sphere"
"""How ArcGIS names Web Mercator; it gives no code and no method that GeoTIFF knows."""
KINDS = {"GeographicCRS": "geographic", "ProjectedCRS": "projected"}
UDUNITS = {"metre": "m", "US survey foot": "US_survey_foot", "kilometre": "km", "grad": "gon"}


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
    projjson: CRSDocument | None
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
    found = _described(keys)
    return None if found is None or not raw else replace(found, raw=raw)


def _described(keys: Keys) -> Crs | None:
    model = keys.number(GeoKey.GT_MODEL_TYPE)
    code = keys.code(GeoKey.PROJECTED_CRS)
    citations = " ".join(keys.text(k) or "" for k in (GeoKey.GT_CITATION, GeoKey.PROJECTED_CITATION))
    if code is None and ESRI_WEB_MERCATOR in citations:
        return _by_code(WEB_MERCATOR, keys)
    if code is not None and model in (MODEL_PROJECTED, MODEL_OWN, None):
        return _by_code(code, keys)
    if model in (MODEL_PROJECTED, MODEL_OWN) and (spelled := _user_projected(keys)) is not None:
        return spelled
    written = esri.definition_in(citations) if code is None and model not in (MODEL_GEOGRAPHIC, None) else None
    if written is not None:
        # Of a geographic system the keys say more than ArcGIS's text: its code, its height.
        return _of((geodetic(keys) if written["type"] == "GeographicCRS" else None) or written)
    if model in (MODEL_GEOGRAPHIC, None):
        base = geodetic(keys)
        if base is not None:
            return _of(base)
        code = keys.code(GeoKey.GEODETIC_CRS)
        if code is not None:
            return Crs("geographic", f"EPSG:{code}", code, None, "degree")
    return Crs(UNKNOWN, _citation(keys), None, None, "1") if model in NOT_PLANE else _engineering(keys)


def _of(definition: CRSDocument) -> Crs:
    """A system by its definition."""
    unit = definition["coordinate_system"]["axis"][0]["unit"]
    name = unit if isinstance(unit, str) else unit["name"]
    return Crs(
        KINDS.get(definition["type"], UNKNOWN),
        str(definition["name"]),
        definition.get("id", {}).get("code"),
        definition,
        UDUNITS.get(name, name),
        cf_attributes(definition),
    )


def _key_name(number: int) -> str:
    try:
        return GeoKey(number).name.lower()
    except ValueError:
        return str(number)


def _linear_unit(keys: Keys) -> Unit:
    code = keys.code(GeoKey.LINEAR_UNITS)
    known = registry.unit(code) if code is not None else None
    if known is not None:
        return known
    size = keys.number(GeoKey.LINEAR_UNIT_SIZE)
    return METRE if size is None or not size > 0 else (UNKNOWN, float(size))


def _citation(keys: Keys) -> str:
    texts = (keys.text(GeoKey.PROJECTED_CITATION), keys.text(GeoKey.GT_CITATION))
    return next((text for text in texts if text and esri.MARK not in text), UNKNOWN)


def _by_code(code: int, keys: Keys) -> Crs:
    known = registry.projected(code)
    unit = _linear_unit(keys)
    if known is None:
        name = _citation(keys)
        name = f"EPSG:{code}" if name == UNKNOWN else name
        return Crs("projected", name, code, None, UDUNITS.get(unit[0], unit[0]))
    axes = known["coordinate_system"]["axis"]
    size = _size(axes[0]["unit"])
    if keys.code(GeoKey.LINEAR_UNITS) is not None and not math.isclose(size, unit[1], rel_tol=1e-12):
        # Coordinates in another unit than the registered system's: GDAL makes it a system of its own, without a code.
        # False easting and northing stay in the registered unit.
        length = registry.unit_json(unit, "LinearUnit")
        known["coordinate_system"] = {"subtype": "Cartesian", "axis": [{**axis, "unit": length} for axis in axes]}
        del known["id"]
    return _of(known)


def _size(unit: JSON) -> float:
    """In metres or degrees."""
    return float(unit["conversion_factor"]) if isinstance(unit, dict) else 1.0


def _user_projected(keys: Keys) -> Crs | None:
    """A projected system spelled out in the keys; None where they do not suffice."""
    unit = _linear_unit(keys)
    conversion = conversion_of(keys, unit, angular_unit(keys))
    base = geodetic(keys)
    if conversion is None or base is None:
        return None
    found = projected_json(_citation(keys), base, conversion, registry.unit_json(unit, "LinearUnit"))
    return _of(_registered(found) or found)


def _registered(found: CRSDocument) -> CRSDocument | None:
    """The registered system that has the name of this one, and also its base, method, parameters and unit."""
    for code in registry.codes_of_projected(str(found["name"])):
        known = registry.projected(code) or {}
        if known["base_crs"]["id"] == found["base_crs"].get("id") and _same_numbers(_numbers(known), _numbers(found)):
            return known
    return None


def _numbers(crs: CRSDocument) -> list[tuple[JSON, float, float]]:
    """The method, each parameter's code, value and unit, and the unit of the coordinates."""
    method, parameters = crs["conversion"]["method"], crs["conversion"]["parameters"]
    length = _size(crs["coordinate_system"]["axis"][0]["unit"])
    return [(method, 0.0, length), *((p["id"], p["value"], _size(p["unit"])) for p in parameters)]


def _same_numbers(one: list[tuple[JSON, float, float]], other: list[tuple[JSON, float, float]]) -> bool:
    return len(one) == len(other) and all(
        a == b and math.isclose(v, w, rel_tol=1e-12, abs_tol=1e-9) and math.isclose(s, t, rel_tol=1e-12)
        for (a, v, s), (b, w, t) in zip(one, other, strict=True)
    )


def _engineering(keys: Keys) -> Crs:
    """Coordinates of which only a name, and perhaps the unit, are known: as GDAL has them."""
    projected = keys.number(GeoKey.GT_MODEL_TYPE) == MODEL_PROJECTED
    said = projected or keys.number(GeoKey.LINEAR_UNITS) is not None
    length = registry.unit_json(_linear_unit(keys) if said else (UNKNOWN, 1.0), "LinearUnit")
    definition: CRSDocument = {
        "type": "EngineeringCRS",
        "name": _citation(keys),
        "datum": {"name": "Unknown engineering datum"},
        "coordinate_system": {"subtype": "Cartesian", "axis": axes_of(length)},
    }
    found = _of(definition)
    return replace(found, kind="projected") if projected else found
