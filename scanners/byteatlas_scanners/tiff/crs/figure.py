"""Numbers of ellipsoids as PROJJSON writes them."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.types import JSON


def semi_major(ellipsoid: Mapping[str, JSON]) -> float:
    """The semi-major axis, or the radius, in metres."""
    value = ellipsoid.get("semi_major_axis", ellipsoid.get("radius"))
    if isinstance(value, dict):  # a registered ellipsoid in feet, or in yards
        unit = value["unit"]
        return float(value["value"]) * (float(unit["conversion_factor"]) if isinstance(unit, dict) else 1.0)
    return float(value)


def inverse_flattening(ellipsoid: Mapping[str, JSON]) -> float:
    """0 for a sphere."""
    if "semi_minor_axis" in ellipsoid:
        a, b = (_number(ellipsoid[axis]) for axis in ("semi_major_axis", "semi_minor_axis"))
        return 0.0 if a == b else a / (a - b)
    return float(ellipsoid.get("inverse_flattening", 0.0))


def _number(value: JSON) -> float:
    """Of an axis; both have the same unit."""
    return float(value["value"] if isinstance(value, dict) else value)
