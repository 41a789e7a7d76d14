"""Centres of HEALPix pixels: Górski et al., "HEALPix", ApJ 622 (2005), sections 4 and 5."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.grib.grids.projections import Angles

RINGS = np.array([2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4])
"""For each of the twelve faces: its southern corner's ring, in units of the resolution."""
PLACES = np.array([1, 3, 5, 7, 0, 2, 4, 6, 1, 3, 5, 7])
"""... and the longitude of its middle, in units of 45 degrees."""


def healpix(side: int, nested: bool) -> tuple[Angles, Angles]:
    """Latitudes and longitudes of the 12 ``side``² pixels, by rings from the north or in nested order; degrees.

    >>> healpix(1, False)[1].tolist()
    [45.0, 135.0, 225.0, 315.0, 0.0, 90.0, 180.0, 270.0, 45.0, 135.0, 225.0, 315.0]
    """
    ring, place, count = _nested(side) if nested else _rings(side)
    shift = np.where((ring < side) | (ring > 3 * side) | ((ring - side) % 2 == 0), 0.5, 0.0)
    longitude = (place + shift) * (360.0 / count)
    near = np.minimum(ring, 4 * side - ring)
    cap = 1.0 - near.astype("f8") ** 2 / (3.0 * side * side)
    belt = 4.0 / 3.0 - 2.0 * ring / (3.0 * side)
    z = np.where(near < side, np.where(ring < side, cap, -cap), belt)
    return np.degrees(np.arcsin(z)), longitude


def _rings(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """For each pixel its ring from 1 on, its place in the ring, and the number of pixels in the ring."""
    every = np.arange(1, 4 * side)
    lengths = 4 * np.minimum(np.minimum(every, 4 * side - every), side)
    ring = np.repeat(every, lengths)
    place = np.arange(len(ring)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return ring, place, np.repeat(lengths, lengths)


def _nested(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The same in nested order: bits of a pixel's number within its face are those of x and y in turn."""
    pixel = np.arange(12 * side * side)
    face, inside = np.divmod(pixel, side * side)
    x, y = _even_bits(inside), _even_bits(inside >> 1)
    ring = RINGS[face] * side - x - y - 1
    near = np.minimum(np.minimum(ring, 4 * side - ring), side)
    across = PLACES[face] * near + x - y  # in steps of half a pixel
    odd = (near == side) & ((ring - side) % 2 == 1)
    place = (across - np.where(odd, 0, 1)) // 2
    return ring, place % (4 * near), 4 * near


def _even_bits(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    found = np.zeros_like(numbers)
    for bit in range(15):  # a side is 16,384 at most
        found |= ((numbers >> (2 * bit)) & 1) << bit
    return found
