"""CF grid mapping attributes (CF 1.11, appendix F) of a system that is written as PROJJSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs.figure import inverse_flattening, semi_major
from byteatlas_scanners.tiff.crs.registry import CRSDocument
from byteatlas_scanners.tiff.crs.wkt import GREENWICH

METHODS: Mapping[str, str] = {
    "Transverse Mercator": "transverse_mercator",
    "Mercator (variant A)": "mercator",
    "Mercator (variant B)": "mercator",
    "Lambert Conic Conformal (1SP)": "lambert_conformal_conic",
    "Lambert Conic Conformal (2SP)": "lambert_conformal_conic",
    "Lambert Azimuthal Equal Area": "lambert_azimuthal_equal_area",
    "Lambert Cylindrical Equal Area": "lambert_cylindrical_equal_area",
    "Albers Equal Area": "albers_conical_equal_area",
    "Azimuthal Equidistant": "azimuthal_equidistant",
    "Stereographic": "stereographic",
    "Polar Stereographic (variant A)": "polar_stereographic",
    "Polar Stereographic (variant B)": "polar_stereographic",
    "Orthographic": "orthographic",
    "Sinusoidal": "sinusoidal",
    "Geostationary Satellite (Sweep X)": "geostationary",
    "Geostationary Satellite (Sweep Y)": "geostationary",
}
PARAMETERS: Mapping[str, str] = {
    "Latitude of natural origin": "latitude_of_projection_origin",
    "Latitude of false origin": "latitude_of_projection_origin",
    "False easting": "false_easting",
    "False northing": "false_northing",
    "Easting at false origin": "false_easting",
    "Northing at false origin": "false_northing",
    "Latitude of standard parallel": "standard_parallel",
    "Latitude of 1st standard parallel": "standard_parallel",
    "Satellite Height": "perspective_point_height",
}
LONGITUDES = ("Longitude of natural origin", "Longitude of false origin", "Longitude of origin")
CENTRAL_MERIDIAN = "longitude_of_central_meridian"
LONGITUDE_NAMES: Mapping[str, str] = {
    "transverse_mercator": CENTRAL_MERIDIAN,
    "albers_conical_equal_area": CENTRAL_MERIDIAN,
    "lambert_conformal_conic": CENTRAL_MERIDIAN,
    "lambert_cylindrical_equal_area": CENTRAL_MERIDIAN,
    "polar_stereographic": "straight_vertical_longitude_from_pole",
}


def cf_attributes(crs: Mapping[str, JSON]) -> CRSDocument:
    """Grid mapping attributes: degrees and metres; only the ellipsoid's where CF has no name for the method."""
    match crs["type"]:
        case "GeographicCRS":
            return {"grid_mapping_name": "latitude_longitude", **_figure(crs)}
        case "ProjectedCRS":
            return _figure(crs["base_crs"]) | _projection(crs["conversion"])
        case _:
            return {}


def _figure(base: Mapping[str, JSON]) -> CRSDocument:
    """The figure of the Earth."""
    datum = base.get("datum") or base["datum_ensemble"]
    ellipsoid = datum["ellipsoid"]
    if "radius" in ellipsoid:
        found: CRSDocument = {"earth_radius": semi_major(ellipsoid)}
    else:
        inverse = inverse_flattening(ellipsoid)
        found = {"semi_major_axis": semi_major(ellipsoid), "inverse_flattening": inverse}
    found["longitude_of_prime_meridian"] = _in_degrees(datum.get("prime_meridian", GREENWICH)["longitude"])
    found["geographic_crs_name"] = base["name"]
    return found


def _projection(conversion: Mapping[str, JSON]) -> CRSDocument:
    method = conversion["method"]["name"]
    name = METHODS.get(method)
    if name is None:
        return {}
    found: CRSDocument = {"grid_mapping_name": name}
    for parameter in conversion["parameters"]:
        label, value = parameter["name"], _plain(parameter)
        if label in PARAMETERS:
            found[PARAMETERS[label]] = value
        elif label in LONGITUDES:
            found[LONGITUDE_NAMES.get(name, "longitude_of_projection_origin")] = value
        elif label == "Scale factor at natural origin":
            place = "central_meridian" if name == "transverse_mercator" else "projection_origin"
            found[f"scale_factor_at_{place}"] = value
        elif label == "Latitude of 2nd standard parallel":
            found["standard_parallel"] = [found["standard_parallel"], value]
    if method == "Lambert Conic Conformal (1SP)" and found["scale_factor_at_projection_origin"] == 1:
        found["standard_parallel"] = found["latitude_of_projection_origin"]
    if method == "Polar Stereographic (variant B)":
        found["latitude_of_projection_origin"] = math.copysign(90.0, found["standard_parallel"])
    if name == "geostationary":
        found |= {"latitude_of_projection_origin": 0.0, "sweep_angle_axis": method[-2].lower()}
    return found


def _plain(parameter: Mapping[str, JSON]) -> float:
    """A parameter's value in degrees, metres or unity."""
    unit = parameter["unit"]
    if isinstance(unit, dict) and unit["type"] == "AngularUnit":
        return _in_degrees({"value": parameter["value"], "unit": unit})
    factor = unit["conversion_factor"] if isinstance(unit, dict) else 1
    return float(parameter["value"]) * factor


def _in_degrees(angle: JSON) -> float:
    if not isinstance(angle, dict):
        return float(angle)
    factor = angle["unit"]["conversion_factor"] if isinstance(angle["unit"], dict) else math.pi / 180
    return float(angle["value"]) * factor / (math.pi / 180)
