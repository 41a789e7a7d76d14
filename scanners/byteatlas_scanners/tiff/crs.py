"""Coordinate reference systems from GeoKeys."""

from __future__ import annotations

from dataclasses import dataclass

from byteatlas.types import JSON
from byteatlas_scanners.tiff.geokeys import GeoKey, Keys


@dataclass(frozen=True, slots=True)
class Crs:
    kind: str
    epsg: int | None
    unit_name: str = "m"

    def attributes(self) -> dict[str, JSON]:
        return {} if self.epsg is None else {"spatial_ref": f"EPSG:{self.epsg}"}


def describe(keys: Keys) -> Crs | None:
    epsg = keys.code(GeoKey.PROJECTED_CRS)
    if epsg is not None:
        return Crs("projected", epsg)
    epsg = keys.code(GeoKey.GEODETIC_CRS)
    return None if epsg is None else Crs("geographic", epsg)
