"""Zarr version 1 documents: ``meta`` and ``attrs``. Read only; version 1 has arrays and no groups."""

from __future__ import annotations

from collections.abc import Mapping

from byteatlas.errors import Unsupported
from byteatlas.meta import v2
from byteatlas.meta.model import ArrayMeta
from byteatlas.meta.parts import object_of
from byteatlas.meta.place import InNode, invalid
from byteatlas.types import JSON
from byteatlas.values import replace


def parse_array(meta: JSON, attrs: JSON, where: str = "") -> ArrayMeta:
    """The array that ``meta`` and ``attrs`` describe (v1 specification, "Metadata").

    >>> parse_array({"zarr_format": 1, "shape": [4], "chunks": [2], "dtype": "<i4", "compression": "zlib",
    ...     "compression_opts": 1, "fill_value": 0, "order": "C"}, {}).shape
    (4,)
    """
    with InNode(where):
        zarray = _as_version_2(object_of(meta, "meta"))
    return replace(v2.parse_array(zarray, attrs, where), zarr_format=1)


def _as_version_2(document: Mapping[str, JSON]) -> dict[str, JSON]:
    if document.get("zarr_format") != 1:
        raise invalid(f"zarr_format {document.get('zarr_format')!r} in a version 1 document")
    kept = ("shape", "chunks", "dtype", "fill_value", "order")
    zarray: dict[str, JSON] = {k: document[k] for k in kept if k in document}
    if document.get("compression") != "blosc":
        # The library of that time wrote C order for every other compressor, whatever ``order`` says, and read it so.
        zarray["order"] = "C"
    zarray |= {"zarr_format": 2, "filters": None, "compressor": _compressor(document)}
    if isinstance(zarray.get("dtype"), str) and zarray["dtype"].lstrip("|") == "O":
        raise Unsupported("datatype", "version 1 object arrays hold pickles")
    return zarray


def _compressor(document: Mapping[str, JSON]) -> JSON:
    name, options = document.get("compression"), document.get("compression_opts")
    if name is None or name == "none":
        return None
    match name, options:
        case (("zlib" | "bz2"), (int() | None)):
            return {"id": name, "level": 1 if options is None else options}
        case "blosc", (dict() | None):
            return {"id": "blosc", **(options or {})}
        case "lzma", (dict() | None):
            return {"id": "lzma", **(options or {})}
    raise Unsupported("codec", f"compression {name!r} with options {options!r}")
