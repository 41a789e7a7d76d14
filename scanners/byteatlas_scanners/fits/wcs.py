"""Names of an image's axes, and coordinates where the world coordinate system is linear (FITS 4.0, section 8).

An axis has coordinates of its own when its type has no algorithm (``WAVE``, not ``RA---TAN``) and no rotation mixes it
with others. All keywords stay in the attributes, whatever else is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.manifest.model import VirtualArray, inline_manifest
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON, Shape
from byteatlas_scanners.fits.header import FitsHeader

NAMES = ("x", "y", "z")
LONGEST_AXIS = 1 << 20
"""An axis with more pixels gets no coordinates: they are stored in the map."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def dimension_names(header: FitsHeader, shape: Shape) -> tuple[str, ...]:
    """A name for each axis, the slowest first: ``y`` and ``x``, or the type of a linear axis.

    ``x`` is the first axis as FITS counts them, which is the last one here.
    """
    names: list[str] = []
    for axis in range(1, len(shape) + 1):
        name = NAMES[axis - 1] if axis <= len(NAMES) else f"axis{axis}"
        kind = header.text(f"CTYPE{axis}")
        if _is_linear(header, axis, len(shape)) and NAME.fullmatch(kind) and kind.upper() != "LINEAR":
            name = kind.lower()
        names.append(name if name not in names and name != "data" else f"axis{axis}")
    return tuple(names[::-1])


def coordinates(header: FitsHeader, shape: Shape) -> dict[str, VirtualArray]:
    """World coordinates of the pixels' centres along each axis that has some of its own (section 8.1)."""
    found: dict[str, VirtualArray] = {}
    for axis, (name, length) in enumerate(zip(dimension_names(header, shape)[::-1], shape[::-1], strict=True), 1):
        place, step = header.number(f"CRPIX{axis}"), _step(header, axis)
        value = header.number(f"CRVAL{axis}")
        if value is None or step is None or not 0 < length <= LONGEST_AXIS:
            continue
        if not _is_linear(header, axis, len(shape)):
            continue
        values = float(value) + (np.arange(1, length + 1) - float(place or 0)) * step
        attributes: dict[str, JSON] = {}
        if unit := header.text(f"CUNIT{axis}"):
            attributes["units"] = unit
        if kind := header.text(f"CTYPE{axis}"):
            attributes["long_name"] = kind
        found[name] = _inline(values, name, attributes)
    return found


def _is_linear(header: FitsHeader, axis: int, count: int) -> bool:
    """Whether the axis' coordinate is a linear function of its own pixels alone."""
    if "-" in header.text(f"CTYPE{axis}") or header.text(f"CTYPE{axis}").upper() in ("COMPLEX", "PIXEL"):
        return False
    if _rotated(header, axis):
        return False
    for other in range(1, count + 1):
        if other == axis:
            continue
        if any(header.number(f"{m}{a}_{b}") for m in ("PC", "CD") for a, b in ((axis, other), (other, axis))):
            return False
        if any(header.number(f"PC{a:03d}{b:03d}") for a, b in ((axis, other), (other, axis))):
            return False
    return True


def _rotated(header: FitsHeader, axis: int) -> bool:
    """CROTA turns two axes (section 8.3); which other one it means is not said, so all but plain axes are left."""
    return bool(header.number(f"CROTA{axis}"))


def _step(header: FitsHeader, axis: int) -> float | None:
    """The increment of an axis: CDELT times PC, or CD. None where none is given or it is zero."""
    diagonal = header.number(f"CD{axis}_{axis}")
    if diagonal is not None:
        return float(diagonal) or None
    step, factor = header.number(f"CDELT{axis}"), header.number(f"PC{axis}_{axis}")
    if step is None:
        return None
    return float(step) * float(1 if factor is None else factor) or None


def _inline(values: NDArray[np.floating[Any]], name: str, attributes: Mapping[str, JSON]) -> VirtualArray:
    meta = ArrayMeta(
        shape=values.shape,
        data_type=from_numpy(values.dtype),
        grid=RegularGrid(values.shape),
        encodings=(Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        dimension_names=(name,),
        attributes=attributes,
    )
    return VirtualArray(meta, inline_manifest((1,), {0: values.astype("<f8").tobytes()}))
