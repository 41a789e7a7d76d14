"""Map projections of planes, on the sphere and the ellipsoid, forwards and backwards.

Formulas: J. P. Snyder, Map Projections, a Working Manual (USGS Professional Paper 1395); the transverse Mercator
projection by Krüger's series to the sixth order. Angles in radians, lengths in metres, without false origins. Backward
results agree with PROJ's to 1e-11 radians.
"""

from __future__ import annotations

import math
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.grids.earth import Spheroid
from byteatlas.values import dataclass

Angles: TypeAlias = NDArray[Any]
HALF_PI = math.pi / 2
ROUNDS = 30
CLOSE = 1e-14


class Projection(Protocol):
    """A plane and the earth."""

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]: ...

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]: ...


def isometric(phi: float, e: float) -> float:
    """Snyder's t (15-9): the tangent of half of the conformal colatitude."""
    s = e * math.sin(phi)
    return math.tan(math.pi / 4 - phi / 2) / math.pow((1 - s) / (1 + s), e / 2)


def from_isometric(t: Angles, e: float) -> Angles:
    """The latitude (7-9), by iteration."""
    phi = HALF_PI - 2 * np.arctan(t)
    if e == 0:
        return phi
    for _ in range(ROUNDS):
        s = e * np.sin(phi)
        following = HALF_PI - 2 * np.arctan(t * ((1 - s) / (1 + s)) ** (e / 2))
        moved = float(np.nanmax(np.abs(following - phi), initial=0.0))
        phi = following
        if moved < CLOSE:
            break
    return phi


def parallel(phi: float, e: float) -> float:
    """Snyder's m (14-15): the radius of a parallel over the major axis."""
    return math.cos(phi) / math.sqrt(1 - (e * math.sin(phi)) ** 2)


def difference(longitude: float, centre: float) -> float:
    """Degrees of longitude between -pi and pi."""
    return (longitude - centre + math.pi) % (2 * math.pi) - math.pi


@dataclass(frozen=True, slots=True)
class Lambert:
    """Lambert conformal conic."""

    a: float
    e: float
    centre: float
    n: float
    f: float

    @classmethod
    def of(cls, earth: Spheroid, centre: float, first: float, second: float) -> Lambert:
        e = earth.eccentricity
        m, t = parallel(first, e), isometric(first, e)
        if abs(first - second) < 1e-10:
            n = math.sin(first)
        else:
            n = math.log(m / parallel(second, e)) / math.log(t / isometric(second, e))
        return cls(earth.major, e, centre, n, m / (n * t**n))

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]:
        rho = self.a * self.f * isometric(latitude, self.e) ** self.n
        theta = self.n * difference(longitude, self.centre)
        return rho * math.sin(theta), -rho * math.cos(theta)

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]:
        sign = math.copysign(1.0, self.n)
        rho = np.hypot(x, y)
        theta = np.arctan2(sign * x, -sign * y)
        t = (rho / (self.a * abs(self.f))) ** (1 / self.n)
        return from_isometric(t, self.e), theta / self.n + self.centre


@dataclass(frozen=True, slots=True)
class Mercator:
    """Mercator, true to scale at a latitude."""

    radius: float
    e: float
    centre: float

    @classmethod
    def of(cls, earth: Spheroid, centre: float, true: float) -> Mercator:
        return cls(earth.major * parallel(true, earth.eccentricity), earth.eccentricity, centre)

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]:
        return self.radius * difference(longitude, self.centre), -self.radius * math.log(isometric(latitude, self.e))

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]:
        return from_isometric(np.exp(-y / self.radius), self.e), x / self.radius + self.centre


@dataclass(frozen=True, slots=True)
class Polar:
    """Polar stereographic, true to scale at a latitude; ``sign`` -1 for the south pole."""

    scale: float
    e: float
    centre: float
    sign: float

    @classmethod
    def of(cls, earth: Spheroid, centre: float, true: float, south: bool) -> Polar:
        e, size = earth.eccentricity, abs(true)
        if abs(size - HALF_PI) < 1e-10:
            scale = 2 / math.sqrt((1 + e) ** (1 + e) * (1 - e) ** (1 - e))
        else:
            scale = parallel(size, e) / isometric(size, e)
        return cls(earth.major * scale, e, centre, -1.0 if south else 1.0)

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]:
        rho = self.scale * isometric(self.sign * latitude, self.e)
        theta = difference(longitude, self.centre)
        return rho * math.sin(theta), -self.sign * rho * math.cos(theta)

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]:
        t = np.hypot(x, y) / self.scale
        return self.sign * from_isometric(t, self.e), np.arctan2(x, -self.sign * y) + self.centre


@dataclass(frozen=True, slots=True)
class EqualArea:
    """Lambert azimuthal equal-area, oblique or polar."""

    a: float
    e: float
    centre: float
    origin: float

    def _q(self, s: Angles) -> Angles:
        """Snyder's q (3-12) of the sine of a latitude."""
        if self.e == 0:
            return 2 * s
        found: Angles = (1 - self.e**2) * (s / (1 - (self.e * s) ** 2) + np.arctanh(self.e * s) / self.e)
        return found

    def _constants(self) -> tuple[float, float, float, float]:
        whole = float(self._q(np.asarray(1.0)))
        beta = math.asin(float(self._q(np.asarray(math.sin(self.origin)))) / whole)
        radius = self.a * math.sqrt(whole / 2)
        d = self.a * parallel(self.origin, self.e) / (radius * math.cos(beta)) if abs(self.origin) < 1.57079 else 1.0
        return whole, beta, radius, d

    def forward(self, latitude: float, longitude: float) -> tuple[float, float]:
        whole, beta0, radius, d = self._constants()
        beta = math.asin(max(-1.0, min(1.0, float(self._q(np.asarray(math.sin(latitude)))) / whole)))
        theta = difference(longitude, self.centre)
        cos = 1 + math.sin(beta0) * math.sin(beta) + math.cos(beta0) * math.cos(beta) * math.cos(theta)
        b = radius * math.sqrt(2 / cos)
        up = math.cos(beta0) * math.sin(beta) - math.sin(beta0) * math.cos(beta) * math.cos(theta)
        return b * d * math.cos(beta) * math.sin(theta), b / d * up

    def backward(self, x: Angles, y: Angles) -> tuple[Angles, Angles]:
        whole, beta0, radius, d = self._constants()
        x, y = x / d, y * d
        rho = np.hypot(x, y)
        angle = 2 * np.arcsin(np.clip(rho / (2 * radius), -1, 1))
        safe = np.where(rho == 0, 1.0, rho)
        sine = np.where(
            rho == 0, math.sin(beta0), np.cos(angle) * math.sin(beta0) + y * np.sin(angle) * math.cos(beta0) / safe
        )
        east = x * np.sin(angle)
        north = rho * math.cos(beta0) * np.cos(angle) - y * math.sin(beta0) * np.sin(angle)
        return self._latitude(sine, whole), np.arctan2(east, north) + self.centre

    def _latitude(self, sine: Angles, whole: float) -> Angles:
        """The latitude with an authalic latitude (3-16), by Newton's method in its sine."""
        sine = np.clip(sine, -1, 1)
        if self.e == 0:
            return np.arcsin(sine)
        wanted, s = whole * sine, sine.copy()
        for _ in range(ROUNDS):
            step = (wanted - self._q(s)) * (1 - (self.e * s) ** 2) ** 2 / (2 * (1 - self.e**2))
            s = np.clip(s + step, -1, 1)
            if float(np.abs(step).max(initial=0.0)) < CLOSE:
                break
        return np.arcsin(s)
