"""Reading codec configurations: typed values, or `InvalidMetadata` without a place (who resolves the chain adds it)."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Collection, Mapping
from typing import Any, TypeAlias

import numpy as np

from byteatlas.meta import dtypes
from byteatlas.meta.place import invalid
from byteatlas.types import JSON

Configuration: TypeAlias = Mapping[str, JSON]


def integer(
    configuration: Configuration,
    key: str,
    default: int | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """An integer between two bounds; integral floats and (netCDF-C) decimal strings count. No default: required."""
    value = configuration.get(key)
    if value is None and default is not None:
        return default
    found = as_integer(value)
    if found is None:
        raise invalid(f"{key}: {value!r} is not an integer")
    if (least is not None and found < least) or (most is not None and found > most):
        bounds = f"at least {least}" if most is None else f"at most {most}" if least is None else f"{least} to {most}"
        raise invalid(f"{key}: {value!r} is not {bounds}")
    return found


def as_integer(value: JSON) -> int | None:
    """The integer that a JSON value is; None when it is none."""
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) < 20:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def number(configuration: Configuration, key: str, default: float | None = None) -> float | int:
    """A finite number. No default: required."""
    value = configuration.get(key)
    if value is None and default is not None:
        return default
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not -sys.float_info.max <= value <= sys.float_info.max
    ):
        raise invalid(f"{key}: {value!r} is not a finite number")
    return value


def flag(configuration: Configuration, key: str, default: bool) -> bool:
    """A Boolean; 0 and 1 count."""
    value = configuration.get(key, default)
    if value not in (0, 1):
        raise invalid(f"{key}: {value!r} is not true or false")
    return bool(value)


def text(configuration: Configuration, key: str, default: str) -> str:
    """A string."""
    value = configuration.get(key, default)
    if not isinstance(value, str):
        raise invalid(f"{key}: {value!r} is not a string")
    return value


def choice(configuration: Configuration, key: str, known: Collection[Any], default: Any = None) -> Any:
    """One of some values; 1 is not true."""
    value = configuration.get(key, default)
    if not any(value == item and type(value) is type(item) for item in known):
        raise invalid(f"{key}: {value!r} is none of {', '.join(map(repr, known))}")
    return value


def only(configuration: Configuration, *keys: str) -> None:
    """There are no members but these."""
    unknown = sorted(set(configuration) - set(keys))
    if unknown:
        raise invalid(f"unknown members {unknown}")


def base64_bytes(configuration: Configuration, key: str) -> bytes | None:
    """Bytes that are written as base64; None when the member is absent or null."""
    value = configuration.get(key)
    if value is None:
        return None
    try:
        return base64.b64decode(value, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise invalid(f"{key}: not base64: {error}") from error


def hex_bytes(configuration: Configuration, key: str) -> bytes:
    """Bytes that are written as hexadecimal digits."""
    value = configuration.get(key)
    try:
        return bytes.fromhex(value if isinstance(value, str) else "?")
    except (TypeError, ValueError) as error:
        raise invalid(f"{key}: not hexadecimal digits: {error}") from error


def type_string(
    configuration: Configuration, key: str, default: str | None = None, kinds: str = ""
) -> np.dtype[np.generic]:
    """A version 2 type string of plain elements, of some kinds (as NumPy names kinds) or any."""
    value = configuration.get(key)
    if value is None:
        value = default
    if isinstance(value, str) and value in np.sctypeDict:
        value = np.dtype(value).str
    if not isinstance(value, str):
        raise invalid(f"{key}: {value!r} is not a type string")
    found = dtypes.numpy_v2(value)
    if kinds and found.kind not in kinds:
        raise invalid(f"{key}: {value!r} is not possible here")
    return found
