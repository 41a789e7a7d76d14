"""Made-up weather that looks like the Earth's: sea surface temperature, air temperature and wind on a global grid."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from byteatlas.demo.coast import land_mask
from byteatlas.values import dataclass

SeaField = NDArray[np.float64]

WARM = (  # (degrees east, degrees north, kelvin, width in degrees of longitude and latitude)
    (150, 2, 1.6, 38, 14),  # western Pacific warm pool
    (75, -2, 1.0, 28, 14),  # Indian Ocean
    (-62, 38, 4.0, 16, 6),  # Gulf Stream
    (-20, 58, 5.0, 26, 9),  # North Atlantic Drift
    (10, 70, 5.0, 18, 6),  # Norwegian Sea
    (150, 36, 3.0, 16, 6),  # Kuroshio
    (30, -36, 2.5, 12, 5),  # Agulhas
    (-45, -36, 2.0, 10, 5),  # Brazil Current
    (-105, -1, -4.2, 30, 5),  # equatorial cold tongue
    (-82, -16, -5.0, 11, 14),  # Humboldt
    (8, -22, -5.0, 10, 12),  # Benguela
    (-122, 33, -3.5, 9, 11),  # California Current
    (-17, 23, -3.0, 8, 9),  # Canary Current
    (-52, 47, -5.0, 8, 6),  # Labrador Current
    (148, 46, -3.5, 12, 7),  # Oyashio
)


@dataclass(frozen=True, slots=True)
class Ocean:
    """A year of weather on a regular grid; the same numbers every time."""

    lat: NDArray[np.float32]
    lon: NDArray[np.float32]
    land: NDArray[np.bool_]

    @staticmethod
    def every(step: float) -> Ocean:
        """On a grid of cells ``step`` degrees wide."""
        lat = np.arange(-90 + step / 2, 90, step, dtype=np.float32)
        lon = np.arange(-180 + step / 2, 180, step, dtype=np.float32)
        return Ocean(lat, lon, land_mask(lat, lon))

    def sst(self, day: float) -> SeaField:
        """Sea surface temperature in degrees Celsius, day 0 being 1 January; defined on land as well."""
        x, y = np.meshgrid(self.lon.astype(float), self.lat.astype(float))
        # Currents meander: the zonal picture is bent by slowly drifting waves of some hundred kilometres.
        bent = y + 2.3 * self._noise(1, 9, day / 90, drift=day / 40) * np.sqrt(np.cos(np.radians(y)).clip(0.02))
        north = _sigmoid(bent / 6)
        peak = np.cos(2 * np.pi * (day - 235) / 365.25)
        season = peak * (5.2 * north * _bump(bent, 42, 17) - 3.2 * (1 - north) * _bump(bent, -38, 17))
        warm = -2.4 + 31.2 * np.exp(-((np.abs(bent - 3 - 2 * peak) / 47) ** 3))
        for east, at, kelvin, wide, high in WARM:
            away = (x - east + 180) % 360 - 180
            warm += kelvin * np.exp(-((away / wide) ** 2) - ((bent - at) / high) ** 2)
        eddies = self._noise(2, 22, day / 35, drift=-day / 15) * (0.35 + 1.1 * np.sin(np.radians(y) * 2) ** 2)
        return np.asarray(np.maximum(warm + season + eddies, -1.8))

    def air(self, day: float, sst: SeaField) -> SeaField:
        """Air temperature at two metres, kelvin: near the sea's over water, colder and more seasonal over land."""
        y = np.broadcast_to(self.lat.astype(float)[:, None], sst.shape)
        swing = np.cos(2 * np.pi * (day - 205) / 365.25) * np.sign(y) * 15 * (1 - np.cos(np.radians(y))) * 1.6
        weather = 4.5 * self._noise(3, 5, day / 6, drift=day * 4) * np.abs(np.sin(np.radians(y)))
        ice = -26 * _sigmoid((np.abs(y) - 71) / 4)
        return np.asarray(np.where(self.land, sst - 3 + swing + ice, sst - 0.8) + weather + 273.15)

    def wind(self, day: float) -> tuple[SeaField, SeaField]:
        """Wind at ten metres, eastward and northward, metres per second: belts, and highs and lows that drift east."""
        y = np.broadcast_to(self.lat.astype(float)[:, None], (len(self.lat), len(self.lon)))
        belts = 8 * np.exp(-(((np.abs(y) - 48) / 13) ** 2)) - 6.5 * np.exp(-(((np.abs(y) - 14) / 10) ** 2))
        stream = self._noise(4, 6, day / 7, drift=day * 5, fall=5) * np.sin(np.radians(np.abs(y))) * 26
        down, along = np.gradient(stream)
        return belts - down * 2.2, along * 2.2 - 1.5 * np.sign(y) * _bump(np.abs(y), 12, 8)

    def _noise(self, which: int, waves: float, phase: float, drift: float, fall: float = 3) -> SeaField:
        """A random field of unit variance with structures of 1/``waves`` of the globe, that changes with ``phase`` and
        moves east by ``drift`` degrees. The larger ``fall``, the smoother."""
        step = int(np.floor(phase))
        part = phase - step
        shape = (len(self.lat), len(self.lon))
        a, b = _frozen(shape, which, waves, fall, step), _frozen(shape, which, waves, fall, step + 1)
        mixed = a * np.cos(part * np.pi / 2) + b * np.sin(part * np.pi / 2)
        spectrum = np.fft.rfft(mixed, axis=1)
        turn = np.exp(-2j * np.pi * np.arange(spectrum.shape[1]) * drift / 360)
        return np.asarray(np.fft.irfft(spectrum * turn, n=len(self.lon), axis=1))


@lru_cache(maxsize=16)
def _frozen(shape: tuple[int, int], which: int, waves: float, fall: float, step: int) -> SeaField:
    """One moment of a random field."""
    white = np.random.default_rng((20240101, which, step)).standard_normal(shape)
    ky = np.fft.fftfreq(shape[0])[:, None] * shape[0] * 2  # the latitudes span half as many degrees
    kx = np.fft.rfftfreq(shape[1])[None, :] * shape[1]
    k = np.hypot(kx, ky) / waves
    smooth = np.fft.irfft2(np.fft.rfft2(white) * k / (0.4 + k**fall), s=shape)
    return np.asarray(smooth / smooth.std())


def _sigmoid(x: SeaField) -> SeaField:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -40, 40))))


def _bump(x: SeaField, middle: float, width: float) -> SeaField:
    return np.asarray(np.exp(-(((x - middle) / width) ** 2)))
