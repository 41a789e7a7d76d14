"""The values of single entries: inline bytes, or a range of a file."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from byteatlas.errors import InvalidMetadata
from byteatlas.types import JSON

if TYPE_CHECKING:
    pass

LARGEST = (1 << 63) - 1


def decode_text(text: str, where: str) -> bytes:
    """The bytes of an inline value: text, or base64 after ``base64:``."""
    try:
        if text.startswith("base64:"):
            return base64.b64decode(text[7:].encode(), validate=True)
        return text.encode()
    except (binascii.Error, UnicodeError, ValueError) as error:
        raise InvalidMetadata(where, f"inline data that do not decode ({error})") from error


def parse_reference(value: JSON, where: str, target: str | None = None) -> bytes | tuple[str, int, int | None]:
    """One reference: inline bytes, or (URL, offset, length); length None means the whole file.

    ``target`` is the source that a URL ``null`` stands for.
    """
    match value:
        case [None, *rest] if len(rest) in (0, 2):
            if target is None:
                raise InvalidMetadata(where, "a reference without a URL; say which file is meant (target=...)")
            return parse_reference([target, *rest], where)
        case str():
            return decode_text(value, where)
        case Mapping():
            return json.dumps(value, separators=(",", ":")).encode()
        case [str() as url]:
            return url, 0, None
        case [str() as url, int() as offset, int() as length] if not isinstance(offset, bool) | isinstance(
            length, bool
        ):
            if offset < 0 or length < 0 or offset + length > LARGEST:
                raise InvalidMetadata(where, f"impossible byte range {offset}+{length}"[:200])
            return (url, offset, length) if length else b""
        case _:
            raise InvalidMetadata(where, f"not a reference: {str(value)[:120]}")
