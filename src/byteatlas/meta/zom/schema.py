"""JSON Schemas (draft 2020-12) of object models, corrected.

The schemas in ZEP 6 cannot be used as they stand. Version 2: the examples (and real documents) have ``attributes`` and
``zarr_format``, a compressor may be null, filters are a list or null, a dtype may be a list. Version 3: a data type may
be an object, a codec may be its name alone and may lack a configuration, a fill value may be an object or null,
dimension names may be null one by one, members that need not be understood are allowed.
"""

from __future__ import annotations

from typing import Any, Literal

from byteatlas.errors import MissingExtra
from byteatlas.types import JSON

DRAFT = "https://json-schema.org/draft/2020-12/schema"
NAME_PATTERN = "^(?!\\.+$)(?!\\.zarray$|\\.zgroup$|\\.zattrs$|\\.zmetadata$|zarr\\.json$)[^/\\x00]+$"
"""What `byteatlas.meta.names.legal_name` says."""
NAMES: JSON = {"pattern": NAME_PATTERN}
SHAPE: JSON = {"type": "array", "items": {"type": "integer", "minimum": 0}}
ATTRIBUTES: JSON = {"type": "object", "default": {}}


def schema(zarr_format: Literal[2, 3]) -> dict[str, JSON]:
    """The schema of the nested JSON form of a model (`byteatlas.meta.zom.model.to_json`)."""
    definitions = _version2() if zarr_format == 2 else _version3()
    return {
        "$schema": DRAFT,
        "title": f"Zarr object model, version {zarr_format}",
        "anyOf": [{"$ref": "#/$defs/group"}, {"$ref": "#/$defs/array"}],
        "$defs": definitions,
    }


def _members() -> JSON:
    node = {"anyOf": [{"$ref": "#/$defs/group"}, {"$ref": "#/$defs/array"}]}
    return {"type": "object", "propertyNames": NAMES, "additionalProperties": node}


def _version2() -> dict[str, JSON]:
    codec = {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "minLength": 1}}}
    array = {
        "type": "object",
        "required": ["zarr_format", "shape", "chunks", "dtype", "compressor", "fill_value", "order", "filters"],
        "properties": {
            "zarr_format": {"const": 2},
            "shape": SHAPE,
            "chunks": {"type": "array", "items": {"type": "integer", "minimum": 1}},
            "dtype": {"$ref": "#/$defs/dtype"},
            "compressor": {"anyOf": [codec, {"type": "null"}]},
            "fill_value": {},
            "order": {"enum": ["C", "F"]},
            "filters": {"anyOf": [{"type": "array", "items": codec}, {"type": "null"}]},
            "dimension_separator": {"enum": [".", "/"]},
            "attributes": ATTRIBUTES,
            "members": False,
        },
    }
    group = {
        "type": "object",
        "required": ["zarr_format", "members"],
        "not": {"required": ["shape"]},
        "properties": {"zarr_format": {"const": 2}, "attributes": ATTRIBUTES, "members": _members()},
    }
    field = {
        "type": "array",
        "prefixItems": [{"type": "string", "minLength": 1}, {"$ref": "#/$defs/dtype"}, SHAPE],
        "minItems": 2,
        "maxItems": 3,
    }
    dtype = {"anyOf": [{"type": "string"}, {"type": "array", "items": field, "minItems": 1}]}
    return {"array": array, "group": group, "dtype": dtype}


def _version3() -> dict[str, JSON]:
    ignorable = {
        "type": "object",
        "required": ["must_understand"],
        "properties": {"must_understand": {"const": False}},
    }
    named = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "configuration": {"type": "object"},
            "must_understand": {"type": "boolean"},
        },
        "additionalProperties": ignorable,
    }
    extension = {"anyOf": [{"type": "string", "minLength": 1}, named]}
    array = {
        "type": "object",
        "required": [
            "zarr_format",
            "node_type",
            "shape",
            "data_type",
            "chunk_grid",
            "chunk_key_encoding",
            "fill_value",
            "codecs",
        ],
        "properties": {
            "zarr_format": {"const": 3},
            "node_type": {"const": "array"},
            "shape": SHAPE,
            "data_type": extension,
            "chunk_grid": extension,
            "chunk_key_encoding": extension,
            "fill_value": {},
            "codecs": {"type": "array", "items": extension, "minItems": 1},
            "attributes": ATTRIBUTES,
            "storage_transformers": {"anyOf": [{"type": "array", "items": extension}, {"type": "null"}]},
            "dimension_names": {"anyOf": [{"type": "array", "items": {"type": ["string", "null"]}}, {"type": "null"}]},
        },
        "additionalProperties": ignorable,
    }
    group = {
        "type": "object",
        "required": ["zarr_format", "node_type", "members"],
        "properties": {
            "zarr_format": {"const": 3},
            "node_type": {"const": "group"},
            "attributes": ATTRIBUTES,
            "members": _members(),
            "consolidated_metadata": {"type": ["object", "null"]},
        },
        "additionalProperties": ignorable,
    }
    return {"array": array, "group": group}


def violations(document: JSON, zarr_format: Literal[2, 3] | None = None) -> list[str]:
    """What of a model's nested JSON form breaks the schema, one line per place; empty for a valid one.

    ``zarr_format``: the version it must be of; None = what its root says. Raises `MissingExtra` without jsonschema.
    """
    try:
        import jsonschema
    except ImportError as error:
        raise MissingExtra("model", "validating a model") from error
    number = zarr_format or (document.get("zarr_format") if isinstance(document, dict) else None)
    if number not in (2, 3):
        return [f"/: zarr_format {number!r}"]
    kind = "array" if isinstance(document, dict) and _is_array(document) else "group"
    return _errors(jsonschema.Draft202012Validator, schema(number), document, kind, "")


def _errors(validator: Any, whole: dict[str, JSON], node: JSON, kind: str, path: str) -> list[str]:
    """Node by node, so that an error names the member at fault and not the tree that holds it."""
    definitions = dict(whole["$defs"])
    group = dict(definitions["group"])
    group["properties"] = {**group["properties"], "members": {"type": "object", "propertyNames": NAMES}}
    here = {"$ref": f"#/$defs/{kind}", "$defs": {**definitions, "group": group}}
    found = [
        f"{path}/{'/'.join(str(p) for p in error.absolute_path)}".rstrip("/") + f": {error.message}"
        for error in sorted(validator(here).iter_errors(node), key=lambda e: [str(p) for p in e.absolute_path])
    ]
    found = [line if line.startswith("/") else f"/{line}" for line in found]
    members = node.get("members") if isinstance(node, dict) and kind == "group" else None
    for name, member in members.items() if isinstance(members, dict) else ():
        inner = "array" if isinstance(member, dict) and _is_array(member) else "group"
        found += _errors(validator, whole, member, inner, f"{path}/{name}")
    return found


def _is_array(document: dict[str, JSON]) -> bool:
    return document.get("node_type") == "array" if "node_type" in document else "shape" in document
