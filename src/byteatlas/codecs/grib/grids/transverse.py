"""The transverse Mercator projection on the sphere and the ellipsoid, by Krüger's series to the sixth order."""

from __future__ import annotations

import math

import numpy as np

from byteatlas.codecs.grib.grids.earth import Spheroid
from byteatlas.codecs.grib.grids.projections import Angles, difference
from byteatlas.values import dataclass

FORWARD = (
    (1 / 2, -2 / 3, 5 / 16, 41 / 180, -127 / 288, 7891 / 37800),
    (0, 13 / 48, -3 / 5, 557 / 1440, 281 / 630, -1983433 / 1935360),
    (0, 0, 61 / 240, -103 / 140, 15061 / 26880, 167603 / 181440),
    (0, 0, 0, 49561 / 161280, -179 / 168, 6601661 / 7257600),
    (0, 0, 0, 0, 34729 / 80640, -3418889 / 1995840),
    (0, 0, 0, 0, 0, 212378941 / 319334400),
)
BACKWARD = (
    (1 / 2, -2 / 3, 37 / 96, -1 / 360, -81 / 512, 96199 / 604800),
    (0, 1 / 48, 1 / 15, -437 / 1440, 46 / 105, -1118711 / 3870720),
    (0, 0, 17 / 480, -37 / 840, -209 / 4480, 5569 / 90720),
    (0, 0, 0, 4397 / 161280, -11 / 504, -830251 / 7257600),
    (0, 0, 0, 0, 4583 / 161280, -108847 / 3991680),
    (0, 0, 0, 0, 0, 20648693 / 638668800),
)
"""Coefficients of powers of the third flattening, 1 to 6, for angles 2, 4 ... 12 (C. Karney, J. Geodesy 85, 2011)."""


@dataclass(frozen=True, slots=True)
class Transverse:
    """The projection. ``origin`` is the latitude of y = 0, ``scale`` that of the central meridian."""

    earth: Spheroid
    centre: float
    origin: float
    scale: float

    def _third(self) -> float:
        return (self.earth.major - self.earth.minor) / (self.earth.major + self.earth.minor)

    def _radius(self) -> float:
        n = self._third()
        return self.scale * self.earth.major / (1 + n) * (1 + n**2 / 4 + n**4 / 64 + n**6 / 256)

    def _series(self, table: tuple[tuple[float, ...], ...]) -> list[float]:
        n = self._third()
        return [sum(c * n ** (k + 1) for k, c in enumerate(row)) for row in table]

    def _plane(self, latitude: float, theta: float) -> tuple[float, float]:
        e = self.earth.eccentricity
        tau = math.tan(latitude)
        sigma = math.sinh(e * math.atanh(e * tau / math.hypot(1, tau)))
        tau = tau * math.hypot(1, sigma) - sigma * math.hypot(1, tau)
        xi0, eta0 = math.atan2(tau, math.cos(theta)), math.asinh(math.sin(theta) / math.hypot(tau, math.cos(theta)))
        xi, eta = xi0, eta0
        for k, c in enumerate(self._series(FORWARD), 1):
            xi += c * math.sin(2 * k * xi0) * math.cosh(2 * k * eta0)
            eta += c * math.cos(2 * k * xi0) * math.sinh(2 * k * eta0)
        return self._radius() * eta, self._radius() * xi

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]:
        x, y = self._plane(latitude, difference(longitude, self.centre))
        return x, y - self._plane(self.origin, 0.0)[1]

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]:
        radius = self._radius()
        xi0, eta0 = (y + self._plane(self.origin, 0.0)[1]) / radius, x / radius
        xi, eta = xi0.copy(), eta0.copy()
        for k, c in enumerate(self._series(BACKWARD), 1):
            xi -= c * np.sin(2 * k * xi0) * np.cosh(2 * k * eta0)
            eta -= c * np.cos(2 * k * xi0) * np.sinh(2 * k * eta0)
        sine = np.sinh(eta)
        wanted = np.sin(xi) / np.hypot(sine, np.cos(xi))
        return self._latitude(wanted), np.arctan2(sine, np.cos(xi)) + self.centre

    def _latitude(self, wanted: Angles) -> Angles:
        """The latitude whose conformal latitude has this tangent, by Newton's method."""
        e = self.earth.eccentricity
        tau = wanted / (1 - e * e)
        for _ in range(8):
            root = np.hypot(1, tau)
            sigma = np.sinh(e * np.arctanh(e * tau / root))
            found = tau * np.hypot(1, sigma) - sigma * root
            step = (wanted - found) / np.hypot(1, found) * (1 + (1 - e * e) * tau**2) / ((1 - e * e) * root)
            tau = tau + step
        return np.arctan(tau)
