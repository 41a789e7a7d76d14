"""Zarr version 3 documents (``zarr.json``) to and from the model.

Strict where the specification says MUST. Two deviations of real writers are accepted: a ``null`` fill value (GDAL) and
names of drafts (`parts.RENAMED`).
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from byteatlas.errors import Unsupported
from byteatlas.meta import dtypes, encodings, fill
from byteatlas.meta.attributes import from_v3_document, to_document, to_v3_document
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, EncodingColumn, GroupMeta, RectilinearGrid
from byteatlas.meta.parts import (
    LONGEST_SHARED,
    codec_json,
    codecs_of,
    extension,
    grid_json,
    grid_of,
    ignorable,
    keys_json,
    keys_of,
    names_of,
    object_of,
    shape_of,
)
from byteatlas.meta.place import InMember, InNode, invalid
from byteatlas.types import JSON
from byteatlas.values import replace

ARRAY_MEMBERS = frozenset(
    (
        "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
        "attributes", "storage_transformers", "dimension_names", "consolidated_metadata",
    )
)  # fmt: skip
OWN = frozenset(("attributes", "dimension_names"))
"""What sibling arrays differ in."""
NUMBERS = frozenset(
    ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
)
"""Types whose fill values cannot be changed in place."""
GROUP_MEMBERS = frozenset(("zarr_format", "node_type", "attributes", "consolidated_metadata"))
REQUIRED = ("shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs")


def parse_array(document: JSON, where: str = "") -> tuple[ArrayMeta, EncodingColumn | None]:
    """The array, and for each chunk (flat index) the number of its encoding when it has several.

    ``where`` is the array's place, for errors. Raises `InvalidMetadata`, `Unsupported`, `MissingExtra`.
    """
    with InNode(where):
        return _array(_node(document, "array", ARRAY_MEMBERS))


def _array(doc: Mapping[str, JSON]) -> tuple[ArrayMeta, EncodingColumn | None]:
    for key in REQUIRED:
        if key not in doc:
            raise invalid(f"{key!r} is missing")
    stored, column = _shared(doc)
    names = names_of(doc.get("dimension_names"), len(stored.shape))
    attributes = from_v3_document(_attributes(doc), stored.data_type)
    return replace(stored, dimension_names=names, attributes=attributes), column


def _shared(doc: Mapping[str, JSON]) -> tuple[ArrayMeta, EncodingColumn | None]:
    """`_stored` of a document. Hierarchies hold many that differ in their attributes only."""
    data_type = doc["data_type"]
    if not isinstance(data_type, str) or data_type not in NUMBERS:
        return _stored(doc)
    try:
        text = marshal.dumps({key: value for key, value in doc.items() if key not in OWN}, 2)
        plain = len(text) <= LONGEST_SHARED and encodings.NAME.encode() not in text
        return (_by_text(_Document(text, doc)), None) if plain else _stored(doc)
    except (TypeError, ValueError, RecursionError):  # no JSON, from a caller of Python
        return _stored(doc)


class _Document:
    """A document that is equal to another one whose members, but for `OWN`, are the same bytes.

    As those of ``marshal``, which tell all values of JSON apart, and are never read back: JSON text takes ten times as
    long.
    """

    __slots__ = ("content", "text")

    def __init__(self, text: bytes, content: Mapping[str, JSON]) -> None:
        self.text, self.content = text, content

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Document) and self.text == other.text


@lru_cache(maxsize=256)
def _by_text(document: _Document) -> ArrayMeta:
    document.content = json.loads(json.dumps({k: v for k, v in document.content.items() if k not in OWN}))
    return _stored(document.content)[0]  # of a copy, which nobody else can change


def _stored(doc: Mapping[str, JSON]) -> tuple[ArrayMeta, EncodingColumn | None]:
    """How an array is stored: all but the names of its dimensions and its attributes."""
    shape = shape_of(doc["shape"], "shape")
    with InMember("data_type"):
        data_type = dtypes.from_v3(doc["data_type"])
    with InMember("chunk_grid"):
        grid = grid_of(doc["chunk_grid"], shape)
    _no_transformers(doc)
    codecs = codecs_of(doc["codecs"], "codecs")
    stored, column = _encodings(codecs, chunk_counts(shape, grid))
    with InMember("fill_value"):
        fill_value = fill.from_v3(doc["fill_value"], data_type)
    with InMember("chunk_key_encoding"):
        keys = keys_of(doc["chunk_key_encoding"])
    return ArrayMeta(shape, data_type, grid, stored, fill_value, keys=keys, zarr_format=3), column


def parse_group(document: JSON, where: str = "") -> GroupMeta:
    """The group that a ``zarr.json`` describes."""
    with InNode(where):
        return GroupMeta(_attributes(_node(document, "group", GROUP_MEMBERS)), 3)


def _node(document: JSON, kind: str, known: frozenset[str]) -> dict[str, JSON]:
    doc = object_of(document, "zarr.json")
    if doc.get("zarr_format") != 3:
        raise invalid(f"zarr_format {doc.get('zarr_format')!r} in zarr.json")
    if doc.get("node_type") != kind:
        raise invalid(f"node_type {doc.get('node_type')!r} where an {kind} is expected")
    for key, member in doc.items():
        if key not in known and not ignorable(member):
            raise invalid(f"unknown member {key!r} that must be understood")
    return doc


def _attributes(doc: Mapping[str, JSON]) -> dict[str, JSON]:
    found = doc.get("attributes")
    return {} if found is None else object_of(found, "attributes")


def _no_transformers(doc: Mapping[str, JSON]) -> None:
    given = doc.get("storage_transformers") or []
    if not isinstance(given, list):
        raise invalid(f"storage_transformers: {given!r} is not a list")
    for item in given:
        name = extension(item, "storage transformer").name
        raise Unsupported("storage-transformer", f"unknown storage transformer {name!r}")


def _encodings(
    codecs: tuple[CodecSpec, ...], counts: tuple[int, ...]
) -> tuple[tuple[Encoding, ...], EncodingColumn | None]:
    if codecs[0].name != encodings.NAME:
        return (Encoding(codecs),), None
    if len(codecs) != 1:
        raise invalid(f"codecs: {encodings.NAME} is a chain by itself")
    with InMember("codecs"), InMember(encodings.NAME):
        return encodings.parse(codecs[0].configuration, counts)


def dump_array(meta: ArrayMeta, encoding_column: EncodingColumn | None = None) -> dict[str, JSON]:
    """The ``zarr.json`` of an array. Raises `Unsupported` (reason ``zarr-v3``) for what cannot be expressed."""
    column = encoding_column if encoding_column is not None and encoding_column.any() else None
    first = meta.encodings[0]
    plain = len(meta.encodings) == 1 or column is None
    if plain and first.chunk_shape is None and first.data_type in (None, meta.data_type) and not first.cast:
        codecs = [codec_json(c) for c in first.codecs]
    else:
        spec = encodings.dump(meta.encodings, column, chunk_counts(meta.shape, meta.grid))
        codecs = [codec_json(spec)]
    if isinstance(meta.grid, RectilinearGrid) and meta.ndim == 0:
        raise Unsupported("zarr-v3", "a rectilinear grid without axes")
    document: dict[str, JSON] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": list(meta.shape),
        "data_type": dtypes.to_v3(meta.data_type),
        "chunk_grid": grid_json(meta.grid),
        "chunk_key_encoding": keys_json(meta.keys),
        "fill_value": fill.to_v3(meta.fill_value, meta.data_type),
        "codecs": codecs,
        "attributes": to_v3_document(meta.attributes, meta.data_type),
    }
    if meta.dimension_names is not None:
        document["dimension_names"] = list(meta.dimension_names)
    return document


def dump_group(meta: GroupMeta) -> dict[str, Any]:
    """The ``zarr.json`` of a group."""
    return {"zarr_format": 3, "node_type": "group", "attributes": to_document(meta.attributes)}
