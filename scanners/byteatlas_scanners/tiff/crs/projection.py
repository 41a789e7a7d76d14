"""Projected systems in PROJJSON: from a method and its parameters, which GeoKeys or another text give."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs import registry
from byteatlas_scanners.tiff.crs.geokeys import GeoKey, Keys
from byteatlas_scanners.tiff.crs.methods import (
    CENTRE_LAT,
    DEFAULTS,
    EQUIRECTANGULAR,
    EQUIRECTANGULAR_FROM,
    LAT,
    MERCATOR,
    MERCATOR_B,
    METHODS,
    POLAR,
    POLAR_B,
    SCALE,
    Method,
    ParameterKeys,
)
from byteatlas_scanners.tiff.crs.registry import CRSDocument, Unit

POLES = ("Latitude of natural origin", "Latitude of standard parallel")
"""Parameters of polar stereographic methods whose sign tells the pole."""


AZIMUTHAL = frozenset({"Lambert Azimuthal Equal Area"})
"""Methods that are polar when they are centred at a pole."""


def conversion_of(keys: Keys, length: Unit, angle: Unit) -> CRSDocument | None:
    """The projection in PROJJSON: by its code, or from the keys, whose values have these units."""
    code = keys.code(GeoKey.PROJECTION)
    if code is not None:
        return registry.conversion(code)
    method = _method(keys)
    if method is None:
        return None
    values = {
        parameter: _first(keys, candidates, DEFAULTS.get(parameter, 0.0))
        for parameter, candidates in method.sources.items()
    }
    return conversion_json(method, values, length, angle)


def _method(keys: Keys) -> Method | None:
    number = keys.code(GeoKey.METHOD)
    latitude, scale = _first(keys, LAT, 0.0), _first(keys, SCALE, 1.0)
    if number == MERCATOR and keys.number(GeoKey.STD_PARALLEL_1) is not None and keys.number(SCALE[0]) is None:
        return MERCATOR_B
    if number == MERCATOR and latitude and scale == 1 and keys.number(GeoKey.STD_PARALLEL_1) is None:
        return MERCATOR_B  # variant A begins at the equator: such a latitude is one of true scale
    if number == POLAR and abs(latitude) != 90:
        return POLAR_B  # GeoTIFF writers put the latitude of true scale here: that is variant B
    if number == EQUIRECTANGULAR and keys.number(GeoKey.STD_PARALLEL_1) is not None and _first(keys, CENTRE_LAT, 0.0):
        return EQUIRECTANGULAR_FROM
    return METHODS.get(number) if number is not None else None


def _first(keys: Keys, candidates: ParameterKeys, default: float) -> float:
    return next((value for value in map(keys.number, candidates) if value is not None), default)


def conversion_json(method: Method, values: Mapping[int, float], length: Unit, angle: Unit) -> CRSDocument:
    """A projection by EPSG codes of its parameters."""
    units = {
        "A": registry.unit_json(angle, "AngularUnit"),
        "L": registry.unit_json(length, "LinearUnit"),
        "S": "unity",
    }
    parameters = []
    for code, value in values.items():
        name, kind = registry.parameter(code)
        parameters.append({"name": name, "value": float(value), "unit": units[kind], "id": registry.identifier(code)})
    how: CRSDocument = {"name": method.name}
    if method.code is not None:
        how["id"] = registry.identifier(method.code)
    return {"name": method.name, "method": how, "parameters": parameters}


def projected_json(name: str, base: CRSDocument, conversion: CRSDocument, length: JSON) -> CRSDocument:
    """A projected system whose coordinates have the unit ``length``."""
    pole = None
    name_of_method = str(conversion["method"]["name"])
    if name_of_method.startswith("Polar Stereographic") or name_of_method in AZIMUTHAL:
        pole = next((p["value"] for p in conversion["parameters"] if p["name"] in POLES), None)
        if name_of_method in AZIMUTHAL and abs(pole or 0.0) != 90:
            pole = None
    return {
        "type": "ProjectedCRS",
        "name": name,
        "base_crs": {key: value for key, value in base.items() if key != "type"},
        "conversion": conversion,
        "coordinate_system": {"subtype": "Cartesian", "axis": axes_of(length, pole)},
    }


def axes_of(length: JSON, pole: float | None = None) -> list[CRSDocument]:
    """Easting and northing. At a pole both axes point away from it, along a meridian each, as PROJ has it."""
    easting: CRSDocument = {"name": "Easting", "abbreviation": "E", "direction": "east"}
    northing: CRSDocument = {"name": "Northing", "abbreviation": "N", "direction": "north"}
    if pole:
        away, meridian = ("south", 180) if pole > 0 else ("north", 0)
        easting |= {"direction": away, "meridian": {"longitude": 90}}
        northing |= {"direction": away, "meridian": {"longitude": meridian}}
    return [{**axis, "unit": length} for axis in (easting, northing)]
