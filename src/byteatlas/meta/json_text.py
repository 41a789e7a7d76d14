"""Metadata documents as JSON text."""

from __future__ import annotations

import json

from byteatlas.types import JSON


def json_text(value: JSON, indent: int | None = None) -> str:
    """JSON text, compact unless indented. It can always be encoded as UTF-8.

    Text is not escaped to ASCII, unless it has halves of characters (lone surrogates), which UTF-8 cannot hold but JSON
    can, as escapes: they are kept.

    >>> json_text({"title": "Säo"}), json_text("half: \\ud800")
    ('{"title":"Säo"}', '"half: \\\\ud800"')
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, separators=separators)
    return text
