"""Quick-look pictures of values: colours for planes, lines for series. No library of plots is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import JSON
from byteatlas.values import dataclass

ANCHORS = "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725"
"""The colour map viridis (S. van der Walt and N. Smith, CC0) at equal steps."""
LINE_POINTS = 400
"""Points of a line."""
OUTLIERS = 2.0
"""Per cent of the values at either end that do not count for the range of colours."""

SMALLER = 0.25
"""A power of two, so that nothing is lost: differences of values as large as there are stay finite."""


@dataclass(frozen=True, slots=True, eq=False)
class PlanePicture:
    """A PNG file, and the values that the ends of its colours stand for (None: colours of the data themselves)."""

    png: bytes
    low: float | None
    high: float | None


def colour_table() -> NDArray[np.uint8]:
    """Viridis in 256 steps, shape (256, 3)."""
    anchors = np.array([[int(word[i : i + 2], 16) for i in (0, 2, 4)] for word in ANCHORS.split()], float)
    at = np.linspace(0, len(anchors) - 1, 256)
    columns = [np.interp(at, np.arange(len(anchors)), anchors[:, i]) for i in range(3)]
    return np.stack(columns, axis=1).round().astype(np.uint8)


def numbers(values: NDArray[Any], attributes: Mapping[str, JSON], fill: object = None) -> NDArray[np.float64] | None:
    """Values as numbers with NaN where they are marked as missing, unpacked as CF 8.1 says; None for other types."""
    if values.dtype.kind == "c":
        values = np.abs(values)
    if values.dtype.kind not in "biuf":
        return None
    out = np.array(values, np.float64)
    for name in ("_FillValue", "missing_value"):
        for marker in np.atleast_1d(np.asarray(attributes.get(name, []), object)).ravel().tolist():
            if isinstance(marker, (int, float)):
                out[values == marker] = np.nan
    if isinstance(fill, np.number) and fill != 0:
        out[values == fill] = np.nan
    scale, offset = attributes.get("scale_factor", 1), attributes.get("add_offset", 0)
    if isinstance(scale, (int, float)) and isinstance(offset, (int, float)):
        out = np.asarray(out * scale + offset)
    out[~np.isfinite(out)] = np.nan
    return out


def plane(values: NDArray[np.float64]) -> PlanePicture:
    """A picture of values with two axes, the first downwards; missing values are transparent."""
    import imagecodecs

    values = values * SMALLER
    there = values[np.isfinite(values)]
    low, high = np.percentile(there, [OUTLIERS, 100 - OUTLIERS]).tolist() if there.size else (0.0, 1.0)
    if not high > low:
        low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    span = high - low or 1.0
    index = np.nan_to_num(np.clip((values - low) / span * 255, 0, 255)).astype(np.uint8)
    image = np.concatenate([colour_table()[index], np.isfinite(values)[..., None].astype(np.uint8) * 255], axis=2)
    low, high = float(low / SMALLER), float(high / SMALLER)
    return PlanePicture(imagecodecs.png_encode(np.ascontiguousarray(image)), low, high)


def colours(values: NDArray[np.uint8]) -> PlanePicture:
    """A picture of red, green, blue (and how opaque), which stand along the last axis."""
    import imagecodecs

    return PlanePicture(imagecodecs.png_encode(np.ascontiguousarray(values)), None, None)


def line(values: NDArray[np.float64]) -> tuple[list[list[float]], float, float]:
    """A series as lines through points (0 to 1 in both directions, y downwards), broken where values are missing."""
    step = max(1, -(-len(values) // LINE_POINTS))
    values = values[::step]
    there = values[np.isfinite(values)]
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    base, span = low * SMALLER, (high * SMALLER - low * SMALLER) or 1.0
    points = [
        [round(i / max(len(values) - 1, 1), 4), round(1 - (v * SMALLER - base) / span, 4)] if np.isfinite(v) else []
        for i, v in enumerate(values.tolist())
    ]
    return points, low, high
