"""What a geostationary satellite sees (grid definition template 3.90, edition 1's type 90).

Source: CGMS 03, LRIT/HRIT Global Specification, section 4.4.3; lengths in units of grid spacings as in ecCodes.
"""

from __future__ import annotations

import math

import numpy as np

from byteatlas.codecs.grib.grids.earth import Spheroid
from byteatlas.codecs.grib.grids.projections import Angles
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class View:
    """A view from above the equator.

    Attributes:
        longitude: of the point under the satellite, in degrees.
        height: of the camera from the centre of the earth, in radii of the equator.
        diameters: apparent diameters of the earth along both axes, in grid spacings.
        origin: place of the point under the satellite, in columns and rows from the first point of the grid.
        negative, positive: columns run from east to west; rows from south to north.
    """

    earth: Spheroid
    longitude: float
    height: float
    diameters: tuple[float, float]
    origin: tuple[float, float]
    negative: bool
    positive: bool

    def points(self, columns: int, rows: int) -> tuple[Angles, Angles]:
        """Latitudes and longitudes in degrees, shape (rows, columns); 0 outside of the earth's disk (as ecCodes)."""
        size = 2 * math.asin(1 / self.height)
        flat = self.earth.minor / self.earth.major
        xp = columns - 1 - self.origin[0] if self.negative else self.origin[0]
        yp = rows - 1 - self.origin[1] if self.positive else self.origin[1]
        x = (np.arange(columns) - xp) * size / self.diameters[0]
        y = (np.arange(rows)[::-1] - yp) * size * flat / self.diameters[1]
        sin_x, sin_y = np.sin(x)[None, :], np.sin(y)[:, None]
        cos = np.sqrt(1 - sin_x**2) * np.sqrt(1 - sin_y**2)
        factor = flat**-2
        height = self.height * self.earth.major
        bent = 1 + (factor - 1) * sin_y**2
        inside = (height * cos) ** 2 - bent * (height**2 - self.earth.major**2)
        seen = inside > 0
        distance = (height * cos - np.sqrt(np.where(seen, inside, 0))) / bent
        s1, s2 = height - distance * cos, distance * sin_x * np.sqrt(1 - sin_y**2)
        s3 = distance * sin_y
        longitude = np.degrees(np.arctan(s2 / s1)) + self.longitude
        latitude = np.degrees(np.arctan(factor * s3 / np.hypot(s1, s2)))
        return np.where(seen, latitude, 0.0), np.where(seen, longitude % 360, 0.0)
