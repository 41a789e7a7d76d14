"""When two sets of values are the same, although two libraries say them in different words."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import JSON, JSONObject


def first_difference(ours: NDArray[Any], theirs: NDArray[Any]) -> str | None:
    """A sentence on the first difference, or None. Numbers must be equal to the bit, except that NaNs are equal.

    >>> first_difference(np.array([1.0, np.nan]), np.array([1.0, np.nan]))
    >>> first_difference(np.array([1, 2]), np.array([1, 3]))
    'at (1,): 2, the library reads 3 (1 of 2 values differ)'
    """
    if ours.shape != theirs.shape:
        return f"shape {ours.shape}, the library has {theirs.shape}"
    if ours.dtype.names is not None or theirs.dtype.names is not None:
        return _fields(ours, theirs)
    a, b = _comparable(ours), _comparable(theirs)
    if a.shape != b.shape or (  # raw bytes have an axis more
        a.dtype.kind != b.dtype.kind
        and "O" not in (a.dtype.kind, b.dtype.kind)
        and {a.dtype.kind, b.dtype.kind} - {*"biu"}
    ):
        return f"dtype {ours.dtype}, the library has {theirs.dtype}"
    differs = np.asarray(_unequal(a, b))
    if not differs.any():
        return None
    at = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), differs.shape)) if differs.shape else ()
    many = f"{int(differs.sum())} of {differs.size} values differ"
    return f"at {at}: {_shown(a[at])}, the library reads {_shown(b[at])} ({many})"


def first_difference_meant(
    ours: NDArray[Any], our_attributes: JSONObject, theirs: NDArray[Any], their_attributes: JSONObject
) -> str | None:
    """As `first_difference`, for numbers that are packed in different ways: what they stand for is compared.

    Both sides are unpacked by their own attributes (CF conventions 1.11, sections 2.5.1 and 8.1), to 64 bits, and may
    differ by what the narrower of their floating-point types cannot say.
    """
    if ours.dtype.kind not in "iuf" or theirs.dtype.kind not in "iuf" or ours.shape != theirs.shape:
        return first_difference(ours, theirs)
    a, b = meant(ours, our_attributes), meant(theirs, their_attributes)
    narrow = min((t.itemsize for t in (ours.dtype, theirs.dtype) if t.kind == "f"), default=8)
    near = np.isclose(a, b, rtol={2: 2e-3, 4: 5e-7}.get(narrow, 1e-12), atol=0, equal_nan=True)
    if near.all():
        return None
    return first_difference(np.where(near, b, a), b)


def meant(values: NDArray[Any], attributes: JSONObject) -> NDArray[np.float64]:
    """What packed numbers stand for; no data is NaN."""
    flag = str(attributes.get("_Unsigned", "")).lower()
    if flag in ("true", "false") and values.dtype.kind in "iu":
        values = values.view(f"{'u' if flag == 'true' else 'i'}{values.dtype.itemsize}")
    out = values.astype(np.float64)
    hidden = np.zeros(values.shape, bool)
    for name in ("_FillValue", "missing_value"):
        for value in np.atleast_1d(np.asarray(attributes.get(name, []))).tolist():
            if isinstance(value, (int, float)):
                marker = np.asarray(value)
                fits = values.dtype.kind == "f" or np.iinfo(values.dtype).min <= value <= np.iinfo(values.dtype).max
                if not fits and values.dtype.kind == "u":  # the marker was written as a signed number
                    marker = np.asarray(int(value)).astype(f"i{values.dtype.itemsize}").view(values.dtype)
                hidden |= values == marker.astype(values.dtype)
    scale, offset = (
        np.asarray(attributes.get(n, d), float).reshape(-1)[0] for n, d in (("scale_factor", 1), ("add_offset", 0))
    )
    out = out * scale + offset
    out[hidden] = np.nan
    return np.asarray(out)


def _fields(ours: NDArray[Any], theirs: NDArray[Any]) -> str | None:
    if ours.dtype.names is None or theirs.dtype.names is None:
        return f"dtype {ours.dtype}, the library has {theirs.dtype}"
    if ours.dtype.names != theirs.dtype.names:
        return f"fields {ours.dtype.names}, the library has {theirs.dtype.names}"
    for name in ours.dtype.names:
        found = first_difference(ours[name], theirs[name])
        if found is not None:
            return f"field {name!r} {found}"
    return None


def _comparable(values: NDArray[Any]) -> NDArray[Any]:
    """Text as objects of str without trailing NULs, numbers in native byte order."""
    kind = values.dtype.kind
    if kind in "SUOT":
        out = np.empty(values.shape, object)
        out.reshape(-1)[:] = [_text(v) for v in values.reshape(-1).tolist()] if values.size else []
        return out
    if kind == "V":
        return (
            np.ascontiguousarray(values).reshape(-1).view((np.uint8, values.dtype.itemsize)).reshape(*values.shape, -1)
        )
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _text(value: Any) -> Any:
    if isinstance(value, (bytes, np.bytes_)):
        return value.rstrip(b"\0").decode("utf-8", "surrogateescape")
    if isinstance(value, str):
        return value.rstrip("\0")
    if isinstance(value, np.ndarray):
        value = value.tolist()
    return tuple(map(_text, value)) if isinstance(value, (list, tuple)) else value


def _unequal(a: NDArray[Any], b: NDArray[Any]) -> Any:
    if a.dtype.kind in "fc" and b.dtype.kind in "fc":
        return (a != b) & ~(np.isnan(a) & np.isnan(b))
    return a != b


def _shown(value: Any) -> str:
    text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) < 60 else text[:57] + "..."


def same_attribute(ours: JSON, theirs: JSON) -> bool:
    """Whether two attribute values say the same; a list of one is its element, numbers are equal as numbers.

    Floats that JSON cannot hold may be words (``NaN``). Bytes that are no UTF-8 may be read as Latin-1.
    """
    if isinstance(ours, list) and len(ours) == 1:
        ours = ours[0]
    if isinstance(theirs, list) and len(theirs) == 1:
        theirs = theirs[0]
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(same_attribute(a, b) for a, b in zip(ours, theirs, strict=True))
    if isinstance(theirs, float) and isinstance(ours, (float, str)):
        try:
            ours = float(ours)
        except ValueError:
            return False
        return ours == theirs or (ours != ours and theirs != theirs)
    if isinstance(ours, str) and isinstance(theirs, str):
        return ours == theirs or ours.encode("latin-1", "replace") == theirs.encode("utf-8", "surrogateescape")
    return bool(ours == theirs)
