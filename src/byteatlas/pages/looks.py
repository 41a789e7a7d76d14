"""Quick looks: a few values of an array, thinned out, as a picture, a line or a text."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array import Array, Group, Node
from byteatlas.combining.coordinates.calendars import julian_day
from byteatlas.combining.coordinates.times import NANOSECONDS, parse_units
from byteatlas.errors import BadRequest, ByteatlasError, NotFound
from byteatlas.pages import pictures
from byteatlas.types import JSON
from byteatlas.values import dataclass

WIDTH = 512
"""Most points of a picture along an axis."""
MOST_BYTES = 96 << 20
"""Bytes of values that are decoded for a picture; of larger planes the middle is shown."""
MOST_WORDS = 40


@dataclass(frozen=True, slots=True)
class Plane:
    """What is shown of an array: its leading indices, and the parts of the axes that are shown."""

    leading: tuple[int, ...]
    shown: tuple[slice, ...]
    cut: bool


def quick_look(root: Node, path: str, at: Sequence[int] | None = None, most_bytes: int = MOST_BYTES) -> dict[str, JSON]:
    """What a page shows of one array: ``image`` (a data URL), ``line`` (points) or ``text``.

    Args:
        path: of the array below ``root``; empty where that is the array.
        at: the indices along its leading axes; by default zeros.
        most_bytes: bytes of values that are decoded; of larger planes the middle is shown.

    Raises `NotFound`, `BadRequest`, and what reading raises.
    """
    array = root[path] if isinstance(root, Group) else root
    if not isinstance(array, Array) or (path and not isinstance(root, Group)):
        raise NotFound("there is no array of this name")
    coloured = array.dtype == np.uint8 and array.ndim >= 3 and array.shape[-1] in (3, 4)
    axes = 3 if coloured else min(array.ndim, 2)
    leading = _indices(at, array.shape[: array.ndim - axes])
    if 0 in array.shape:
        return {"text": "no values: an axis has the length 0"}
    where = _plane(array, leading, axes, most_bytes)
    found: dict[str, JSON] = {"note": "the middle of it" if where.cut else "", "at": _labels(root, array, leading)}
    values = array[(*where.leading, *where.shown)]
    if coloured:
        return found | _image(pictures.colours(values))
    numbers = pictures.numbers(np.asarray(values), array.attrs, array.fill_value)
    if numbers is None or not array.ndim:
        return found | {"text": _words(values if numbers is None else numbers)}
    if axes == 1:
        points, low, high = pictures.line(numbers)
        return found | {"line": points, "low": _number(low), "high": _number(high)}
    return found | _image(pictures.plane(numbers[::-1] if _upwards(root, array) else numbers))


def _image(picture: pictures.PlanePicture) -> dict[str, JSON]:
    found: dict[str, JSON] = {"image": "data:image/png;base64," + base64.b64encode(picture.png).decode()}
    if picture.low is not None and picture.high is not None:
        found |= {"low": _number(picture.low), "high": _number(picture.high)}
    return found


def _indices(at: Sequence[int] | None, lengths: Sequence[int]) -> tuple[int, ...]:
    """Raises `BadRequest` for what is no index of each leading axis."""
    found = (0,) * len(lengths) if at is None else tuple(at)
    if len(found) != len(lengths):
        raise BadRequest(f"at has an index for each of {len(lengths)} leading axes")
    if any(not 0 <= i < max(n, 1) for i, n in zip(found, lengths, strict=True)):
        raise BadRequest("at is outside of the array")
    return found


def _plane(array: Array, leading: tuple[int, ...], axes: int, most_bytes: int) -> Plane:
    """The last axes, thinned out; of planes that take too much to decode the middle."""
    chunks = [c if isinstance(c, int) else max(c, default=1) for c in array.chunks]
    ahead = math.prod(chunks[: array.ndim - axes]) * max(array.dtype.itemsize, 1)
    extent = [slice(0, n) for n in array.shape[array.ndim - axes :]]
    cut = False
    while extent and ahead * _covered(extent, chunks[array.ndim - axes :]) > most_bytes:
        widest = max(range(len(extent)), key=lambda i: extent[i].stop - extent[i].start)
        begin, length = extent[widest].start, extent[widest].stop - extent[widest].start
        if length <= chunks[array.ndim - axes + widest]:
            raise BadRequest("its chunks are too large for a quick look")
        extent[widest], cut = slice(begin + length // 4, begin + length // 4 + length // 2), True
    most = WIDTH if axes > 1 else 8 * WIDTH
    thin = [slice(s.start, s.stop, max(1, -(-(s.stop - s.start) // most))) for s in extent]
    if axes == 3:  # colours
        thin[-1] = extent[-1]
    return Plane(leading, tuple(thin), cut)


def _covered(extent: Sequence[slice], chunks: Sequence[int]) -> int:
    """Elements of the chunks that a part touches."""
    each = [(s.stop + c - 1) // max(c, 1) - s.start // max(c, 1) for s, c in zip(extent, chunks, strict=True)]
    return math.prod(n * c for n, c in zip(each, chunks, strict=True))


def _sibling(root: Node, array: Array, name: str | None) -> Array | None:
    """The coordinate variable of a dimension, in the group of the array."""
    if not isinstance(root, Group) or not name:
        return None
    group = array.path.rpartition("/")[0]
    path = f"{group}/{name}" if group else name
    try:
        found = root[path[len(root.path) :].strip("/") if root.path else path]
    except ByteatlasError:
        return None
    return found if isinstance(found, Array) and found.ndim == 1 and found.dtype.kind in "iufM" else None


def _upwards(root: Node, array: Array) -> bool:
    """Whether the rows go from south to north (or upwards): then the last one is shown on top."""
    dims = array.dims
    found = _sibling(root, array, dims[-2]) if dims is not None and len(dims) > 1 else None
    if found is None or found.shape[0] < 2 or found.dtype.kind == "M":
        return False
    upright = found.attrs.get("axis") == "Y" or str(found.attrs.get("standard_name", "")).endswith(
        ("latitude", "y_coordinate")
    )
    ends: list[float] = [float(found[0]), float(found[-1])]
    return (upright or str(dims[-2]).lower() in ("lat", "latitude", "y", "northing") if dims else False) and ends[
        0
    ] < ends[1]


def _labels(root: Node, array: Array, leading: tuple[int, ...]) -> list[JSON]:
    """What the coordinates say of the leading indices; empty where they say nothing."""
    dims = array.dims or (None,) * array.ndim
    found: list[JSON] = []
    for name, i in zip(dims, leading, strict=False):
        known = _sibling(root, array, name)
        found.append("" if known is None or i >= known.shape[0] else _label(known, i))
    return found


def _label(coordinate: Array, i: int) -> str:
    units = coordinate.attrs.get("units")
    value = coordinate[i]
    known = parse_units(units, coordinate.attrs.get("calendar"))
    if known is not None and known.calendar in ("standard", "proleptic_gregorian"):
        return _date(Fraction(float(value)) * known.unit + known.reference)
    text = str(value) if coordinate.dtype.kind == "M" else _number(float(value))
    return f"{text} {units}" if isinstance(units, str) and len(units) < 60 else text


def _date(nanoseconds: Fraction) -> str:
    """A time by its nanoseconds since the beginning of the Julian day count, to the minute."""
    epoch = julian_day(1970, 1, 1, gregorian=True) * NANOSECONDS["day"]
    minutes = round((nanoseconds - epoch) / NANOSECONDS["minute"])
    return str(np.datetime64(minutes, "m")).replace("T", " ") if abs(minutes) < 2**50 else ""


def _number(value: float) -> str:
    return f"{value:.6g}"


def _words(values: NDArray[Any]) -> str:
    flat = np.asarray(values).ravel()
    words = [str(v)[:80] for v in flat[:MOST_WORDS].tolist()]
    return ", ".join(words) + (" …" if flat.size > MOST_WORDS else "")
