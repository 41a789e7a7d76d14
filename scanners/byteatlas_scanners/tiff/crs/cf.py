"""CF grid mapping attributes (CF 1.11, appendix F) of a system that is written as PROJJSON."""

from __future__ import annotations

import math
from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.tiff.crs import epsg
from byteatlas_scanners.tiff.crs.epsg import Method

CF_NAMES: Mapping[int, str] = {
    epsg.LAT_0: "latitude_of_projection_origin",
    epsg.LAT_F: "latitude_of_projection_origin",
    epsg.X_0: "false_easting",
    epsg.Y_0: "false_northing",
    epsg.X_F: "false_easting",
    epsg.Y_F: "false_northing",
}
CF_LONGITUDE: Mapping[str, str] = {
    "transverse_mercator": "longitude_of_central_meridian",
    "albers_conical_equal_area": "longitude_of_central_meridian",
    "lambert_conformal_conic": "longitude_of_central_meridian",
    "lambert_cylindrical_equal_area": "longitude_of_central_meridian",
    "polar_stereographic": "straight_vertical_longitude_from_pole",
}


def cf_geographic(base: Mapping[str, JSON]) -> dict[str, JSON]:
    """CF attributes of a geographic system."""
    ellipsoid = base["datum"]["ellipsoid"]
    found: dict[str, JSON] = {"grid_mapping_name": "latitude_longitude"}
    if "radius" in ellipsoid:
        found["earth_radius"] = ellipsoid["radius"]
    else:
        found["semi_major_axis"] = ellipsoid["semi_major_axis"]
        found["inverse_flattening"] = ellipsoid["inverse_flattening"]
    found["longitude_of_prime_meridian"] = base["datum"].get("prime_meridian", {}).get("longitude", 0.0)
    found["geographic_crs_name"] = base["name"]
    return found


def cf_projected(
    base: Mapping[str, JSON], method: Method, values: Mapping[int, float], metres: float = 1.0
) -> dict[str, JSON]:
    """CF attributes of a projection; only its ellipsoid's where CF has no name for the method."""
    found = cf_geographic(base)
    del found["grid_mapping_name"]
    if method.cf is None:
        return found
    found["grid_mapping_name"] = method.cf
    for parameter, value in values.items():
        if parameter in CF_NAMES:
            found[CF_NAMES[parameter]] = value * metres if "false" in CF_NAMES[parameter] else value
        elif parameter in (epsg.LON_0, epsg.LON_F, epsg.LON_ORIGIN):
            found[CF_LONGITUDE.get(method.cf, "longitude_of_projection_origin")] = value
        elif parameter == epsg.K_0:
            name = "central_meridian" if method.cf == "transverse_mercator" else "projection_origin"
            found[f"scale_factor_at_{name}"] = value
        elif parameter == epsg.LAT_TS:
            found["standard_parallel"] = value
            found["latitude_of_projection_origin"] = math.copysign(90.0, value)
    parallels = [values[p] for p in (epsg.LAT_1, epsg.LAT_2) if p in values]
    if parallels:
        found["standard_parallel"] = parallels if len(parallels) > 1 else parallels[0]
    return found
