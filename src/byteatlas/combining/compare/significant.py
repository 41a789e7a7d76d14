"""Attributes that say what values mean: files in which one of these differs are looked at apart."""

from __future__ import annotations

import json
import re
from typing import Any

from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.types import JSON

MEANING = (
    "units",
    "calendar",
    "positive",
    "standard_name",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "formula_terms",
    "grid_mapping",
    "cell_methods",
)
"""Values of different files mean different things when one of these differs."""
SIGNIFICANT = (*MEANING, *PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)
"""Files in which one of these differs are looked at apart."""
ABSENT: Any = object()
"""Stands for an attribute that a file does not have."""


CRS = (
    "grid_mapping_name", "crs_wkt", "spatial_ref", "epsg_code", "epsg", "EPSG", "proj4", "proj4text", "proj4_params",
    "proj4_string", "esri_pe_string", "azimuth_of_central_line", "earth_radius", "false_easting", "false_northing",
    "fixed_angle_axis", "geographic_crs_name", "geoid_name", "geopotential_datum_name", "grid_north_pole_latitude",
    "grid_north_pole_longitude", "horizontal_datum_name", "inverse_flattening", "latitude_of_projection_origin",
    "longitude_of_central_meridian", "longitude_of_prime_meridian", "longitude_of_projection_origin",
    "north_pole_grid_longitude", "perspective_point_height", "prime_meridian_name", "projected_crs_name",
    "reference_ellipsoid_name", "scale_factor_at_central_meridian", "scale_factor_at_projection_origin",
    "semi_major_axis", "semi_minor_axis", "standard_parallel", "straight_vertical_longitude_from_pole",
    "sweep_angle_axis", "towgs84", "zone", "utm_zone_number",
)  # fmt: skip
"""Attributes of a grid mapping that say which coordinate reference system it is (CF conventions 1.11, Appendix F; and
the names that GDAL, ESRI and others use)."""
COMMENTS = re.compile(r"\([^)]*+\)")


def meaning(name: str, value: JSON) -> JSON:
    """What an attribute says, without what does not count: comments in cell methods, white space."""
    if not isinstance(value, str):
        return value
    if name == "cell_methods":
        end = value.rfind(")") + 1  # behind it no comment ends, and each "(" would be looked at to the end
        return " ".join((COMMENTS.sub(" ", value[:end]) + value[end:]).split())
    return "".join(value.split()) if name in ("crs_wkt", "spatial_ref", "esri_pe_string") else value


def show_json(value: JSON, limit: int = 60) -> str:
    """A JSON value for a message."""
    text = json.dumps(value, default=str)
    return text if len(text) <= limit else text[: limit - 3] + "..."
