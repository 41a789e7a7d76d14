"""Metadata documents: JSON from untrusted bytes, bounded in size and depth."""

from __future__ import annotations

from itertools import chain
from typing import Any

from byteatlas.errors import InvalidMetadata
from byteatlas.meta.json_text import parse_json
from byteatlas.types import JSON, Buffer

MOST_BYTES = 256 << 20
"""The largest metadata document that is read (consolidated metadata of a large hierarchy has some tens of MB)."""
MOST_DEPTH = 64


def load_json(data: Buffer, where: str) -> JSON:
    """Parse a document. Bare NaN and Infinity are accepted, as zarr-python writes them into v1 and v2 metadata.

    Raises `InvalidMetadata` for anything that is not JSON in UTF-8, and for documents nested absurdly deep.
    """
    try:
        found = parse_json(bytes(data).decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidMetadata(where, f"not a JSON document: {error}") from error
    _check_depth(found, where)
    return found


def load_object(data: Buffer, where: str) -> dict[str, JSON]:
    """A document that must be an object."""
    found = load_json(data, where)
    if not isinstance(found, dict):
        raise InvalidMetadata(where, f"a JSON object is needed, not {type(found).__name__}")
    return found


def _check_depth(document: JSON, where: str) -> None:
    level: list[Any] = [document] if type(document) in _NESTED else []
    for _ in range(MOST_DEPTH):
        if not level:
            return
        below = chain.from_iterable([node.values() if type(node) is dict else node for node in level])
        level = [child for child in below if type(child) in _NESTED]
    if level:
        raise InvalidMetadata(where, f"nested more than {MOST_DEPTH} deep")


_NESTED = frozenset((dict, list))
