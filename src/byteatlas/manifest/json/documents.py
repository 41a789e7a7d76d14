"""Metadata documents and the table of sources inside a reference map of any form."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import InvalidMetadata
from byteatlas.manifest.json.values import decode_text
from byteatlas.manifest.model import SourceInfo
from byteatlas.manifest.options import MapReadOptions
from byteatlas.manifest.tree import is_document
from byteatlas.meta.json_text import parse_json
from byteatlas.types import JSON


def document(value: JSON, where: str) -> JSON:
    """A metadata document, which is JSON text (perhaps base64) or the object itself."""
    if isinstance(value, Mapping):
        return value
    if not isinstance(value, str):
        raise InvalidMetadata(where, "metadata must be text or an object")
    try:
        found = parse_json(decode_text(value, where).decode("utf-8-sig"))
    except RecursionError as error:
        raise InvalidMetadata(where, "nested too deeply") from error
    except ValueError as error:
        raise InvalidMetadata(where, f"not JSON ({error})") from error
    if not isinstance(found, Mapping):
        raise InvalidMetadata(where, "metadata must be an object")
    return found


def consolidated(documents: dict[str, JSON], where: str) -> dict[str, JSON]:
    """The documents, with those that only consolidated metadata hold."""
    root = documents.get("zarr.json", {}).get("consolidated_metadata")
    if isinstance(root, Mapping) and isinstance(root.get("metadata"), Mapping):
        for path, value in root["metadata"].items():
            documents.setdefault(f"{path}/zarr.json", document(value, f"{where}: consolidated_metadata: {path}"))
    whole = documents.pop(".zmetadata", None)
    if whole is None:
        return documents
    inside = whole.get("metadata")
    if not isinstance(inside, Mapping):
        raise InvalidMetadata(f"{where}: .zmetadata", "no metadata inside")
    for key, value in inside.items():
        if key not in documents and is_document(key):
            documents[key] = document(value, f"{where}: .zmetadata: {key}")
    return documents


def source_infos(table: JSON, where: str, options: MapReadOptions) -> dict[str, SourceInfo]:
    """What the map recorded of its sources, by absolute URL."""
    if table is None:
        return {}
    if isinstance(table, str):
        table = document(table, f"{where}: byteatlas")
    rows = table.get("sources") if isinstance(table, Mapping) else None
    if not isinstance(rows, list):
        raise InvalidMetadata(f"{where}: byteatlas", "no list of sources")
    found: dict[str, SourceInfo] = {}
    for row in rows:
        match row:
            case [str() as url, (int() | None) as size, (str() | None) as stamp]:
                absolute = options.absolute(url, where)
                found[absolute] = options.named(absolute, size, stamp)
            case _:
                raise InvalidMetadata(f"{where}: byteatlas", f"not a source: {row!r}"[:200])
    return found
