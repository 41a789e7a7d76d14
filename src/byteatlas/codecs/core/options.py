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
from byteatlas.values import dataclass

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


@dataclass(frozen=True, slots=True)
class EncoderSetting:
    """An integer that only encoding uses. Decoding works whatever it is; `value` complains when a chunk is encoded.

    Writers of other releases have other ranges (zstd's level 100, gzip's 10), and what they wrote is there to be read.
    """

    key: str
    number: int
    least: int | None = None
    most: int | None = None

    def value(self) -> int:
        """The integer. Raises `InvalidMetadata` for one that the encoder at hand does not take."""
        return integer({self.key: self.number}, self.key, least=self.least, most=self.most)


def setting(
    configuration: Configuration, key: str, default: int, least: int | None = None, most: int | None = None
) -> EncoderSetting:
    """An integer that only encoding uses. Raises `InvalidMetadata` for what is no integer."""
    return EncoderSetting(key, integer(configuration, key, default), least, most)


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


TRUTHS: Mapping[str, bool] = {
    "yes": True, "true": True, "on": True, "1": True, "no": False, "false": False, "off": False, "0": False,
}  # fmt: skip
"""Truth values in strings: GDAL's (``CPLTestBool``) and netCDF-C's."""


def flag(configuration: Configuration, key: str, default: bool) -> bool:
    """A Boolean; 0 and 1 count, and the words for them that writers without types use."""
    value = configuration.get(key)
    if value is None:
        return default
    found = TRUTHS.get(value.lower()) if isinstance(value, str) else value
    if found not in (0, 1) or isinstance(found, (list, dict)):
        raise invalid(f"{key}: {value!r} is not true or false")
    return bool(found)


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
