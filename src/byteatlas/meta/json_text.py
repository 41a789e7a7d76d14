"""Metadata documents as JSON text."""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring

from byteatlas.types import JSON

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
_MINUS_ZERO = re.compile(r"-0(?![0-9.eE])")


def json_text(value: JSON, indent: int | None = None) -> str:
    """JSON text, compact unless indented. It can always be encoded as UTF-8.

    Text is not escaped to ASCII, unless it has halves of characters (lone surrogates), which UTF-8 cannot hold but JSON
    can, as escapes: they are kept.

    >>> json_text({"title": "Säo"}), json_text("half: \\ud800")
    ('{"title":"Säo"}', '"half: \\\\ud800"')
    """
    separators = (",", ":") if indent is None else None
    text = _compact(value) if indent is None else json.dumps(value, indent=indent, ensure_ascii=False)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, separators=separators)
    return text


def quoted(text: str) -> bytes:
    """Text as a JSON string in UTF-8, as `json_text` writes it."""
    try:
        return encode_basestring(text).encode()
    except UnicodeEncodeError:
        return json.dumps(text).encode()


def parse_json(text: str) -> JSON:
    """The value of JSON text. ``-0``, as C writes it, keeps its sign: it is a number like any other to JSON.

    Raises `ValueError` for what is not JSON, `RecursionError` for what is nested too deeply.

    >>> parse_json("[-0, 0]")
    [-0.0, 0]
    """
    if _MINUS_ZERO.search(text) is None:
        return json.loads(text)
    return json.loads(text, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))
