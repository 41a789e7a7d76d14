"""Latitudes of Gaussian grids: where the Legendre polynomial of degree 2 N is zero."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROUNDS = 10
MOST_PARALLELS = 1 << 14
"""Parallels between a pole and the equator, at most; the finest models have 2,560."""


def gaussian_latitudes(n: int) -> NDArray[np.float64]:
    """The 2 ``n`` latitudes in degrees, from north to south.

    Newton's method from Bessel's estimate of the zeros; the polynomial by its recurrence, for all zeros at once.

    >>> gaussian_latitudes(2).round(6).tolist()
    [59.444408, 19.875719, -19.875719, -59.444408]
    """
    degree = 2 * n
    k = np.arange(1, n + 1)
    x = np.cos(np.pi * (4 * k - 1) / (4 * degree + 2)) * (1 - (1 - 1 / degree) / (8.0 * degree * degree))
    for _ in range(ROUNDS):
        before, here = np.ones(n), x.copy()
        for order in range(2, degree + 1):
            before, here = here, ((2 * order - 1) * x * here - (order - 1) * before) / order
        step = here * (1 - x * x) / (degree * (before - x * here))
        x -= step
        if np.abs(step).max() < 1e-15:
            break
    north = np.degrees(np.arcsin(x))
    return np.concatenate([north, -north[::-1]])
