"""Types of levels (code table 4.5 of edition 2, 3 of edition 1): names as in ecCodes, units, directions."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.types import JSON
from byteatlas_scanners.grib.tables.concepts import best

FILE = "levels.txt"
LAYERS1 = frozenset({101, 104, 106, 108, 110, 112, 114, 116, 120, 121, 128, 141})
"""Types of edition 1 with two values of one octet each."""
UNITS2: Mapping[int, tuple[str, float]] = {
    20: ("K", 1.0), 100: ("hPa", 100.0), 102: ("m", 1.0), 103: ("m", 1.0), 104: ("1", 1.0), 105: ("1", 1.0),
    106: ("m", 1.0), 107: ("K", 1.0), 108: ("Pa", 1.0), 109: ("K m2 kg-1 s-1", 1.0), 111: ("1", 1.0), 114: ("1", 1.0),
    118: ("1", 1.0), 119: ("1", 1.0), 150: ("1", 1.0), 151: ("1", 1.0), 152: ("1", 1.0), 160: ("m", 1.0),
    168: ("1", 1.0),
}  # fmt: skip
"""By type of edition 2: units, and how many of the file's make one."""
UNITS1: Mapping[int, tuple[str, float]] = {
    20: ("K", 100.0), 100: ("hPa", 1.0),
    101: ("kPa", 1.0), 103: ("m", 1.0), 104: ("hm", 1.0), 105: ("m", 1.0), 106: ("hm", 1.0),
    107: ("1", 10_000.0), 108: ("1", 100.0), 109: ("1", 1.0), 110: ("1", 1.0), 111: ("cm", 1.0), 112: ("cm", 1.0),
    113: ("K", 1.0), 115: ("hPa", 1.0), 116: ("hPa", 1.0), 117: ("1e-9 K m2 kg-1 s-1", 1.0), 119: ("1", 10_000.0),
    120: ("1", 100.0), 125: ("cm", 1.0), 126: ("Pa", 1.0), 160: ("m", 1.0), 210: ("Pa", 1.0),
}  # fmt: skip
STANDARD_NAMES: Mapping[str, str] = {
    "isobaricInhPa": "air_pressure",
    "isobaricInPa": "air_pressure",
    "isobaricLayer": "air_pressure",
    "heightAboveGround": "height",
    "heightAboveGroundLayer": "height",
    "heightAboveSea": "altitude",
    "depthBelowLand": "depth",
    "depthBelowLandLayer": "depth",
    "depthBelowSea": "depth",
    "theta": "air_potential_temperature",
    "sigma": "atmosphere_sigma_coordinate",
    "hybrid": "atmosphere_hybrid_sigma_pressure_coordinate",
}
DOWN = frozenset({"isobaricInhPa", "isobaricInPa", "isobaricLayer", "depthBelowLand", "depthBelowLandLayer",
                  "depthBelowSea", "hybrid", "sigma"})  # fmt: skip
"""Types whose values grow downwards (CF 4.3, attribute ``positive``)."""


def level_kind(edition: int, number: int, centre: int, keys: Mapping[str, JSON]) -> str:
    """The name of a type of level, ``level_N`` or ``level_N_M`` where the tables have none."""
    row = best(FILE, f"{edition}.{number}", centre, keys, dated=False)
    if row is not None:
        return row.values[0]
    second = keys.get("typeOfSecondFixedSurface", 255)
    return f"level_{number}" if second in (255, None) else f"level_{number}_{second}"


def level_units(edition: int, number: int) -> tuple[str, float]:
    """Units of a level's values, and how many of the file's numbers make one of them."""
    return (UNITS1 if edition == 1 else UNITS2).get(number, ("1", 1.0))
