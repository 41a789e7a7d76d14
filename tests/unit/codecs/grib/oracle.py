"""Messages made with ecCodes and the values that ecCodes reads from them: the oracle of the decoders."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

MISSING = 1.5e300
"""Stands for "no value" where ecCodes is asked: a number that no packing gives."""


def eccodes() -> Any:
    """The library, or the test is skipped.

    Its wheel has a copy of PROJ. Loaded before pyproj's own, it takes the place of that one, and pyproj fails: so
    pyproj is always imported first.
    """
    pytest.importorskip("pyproj")
    return pytest.importorskip("eccodes", reason="ecCodes (the extra [verify]) is the oracle")


@contextmanager
def handle(sample: str, **keys: Any) -> Iterator[int]:
    """A message of a sample, with these keys set in order."""
    ec = eccodes()
    made = ec.codes_grib_new_from_samples(sample)
    try:
        for key, value in keys.items():
            ec.codes_set(made, key, value)
        yield made
    finally:
        ec.codes_release(made)


def message(made: int) -> bytes:
    found: bytes = eccodes().codes_get_message(made)
    return found


def expected(data: bytes) -> NDArray[np.float64]:
    """The first field's values, NaN where there is none."""
    ec = eccodes()
    made = ec.codes_new_from_message(data)
    try:
        ec.codes_set(made, "missingValue", MISSING)
        found: NDArray[np.float64] = ec.codes_get_array(made, "values")
    finally:
        ec.codes_release(made)
    found[found == MISSING] = np.nan
    return found


def field_values(count: int, missing: bool = False, seed: int = 1) -> NDArray[np.float64]:
    """A field with slow and fast parts; a part of it missing."""
    rng = np.random.default_rng(seed)
    found = 280.0 + 10 * np.sin(np.arange(count) / 29) + rng.normal(0, 0.3, count).cumsum() * 0.05
    if missing:
        found[rng.random(count) < 0.2] = MISSING
        found[: count // 16] = MISSING
    return found
