"""Reading of version 2 documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache

from byteatlas.meta import fill
from byteatlas.meta.attributes import from_v2_document
from byteatlas.meta.model import ArrayMeta, ChunkKeys, CodecSpec, Encoding, GroupMeta, RegularGrid
from byteatlas.meta.parts import DIMENSIONS, LONGEST_SHARED, object_of, shape_of
from byteatlas.meta.place import InMember, InNode, invalid
from byteatlas.meta.v2.codecs import chain_of, nczarr_of
from byteatlas.types import JSON, Shape
from byteatlas.values import replace

REQUIRED = ("shape", "chunks", "dtype")
NCZARR = ("_nczarr_", "_NCZARR_")


def parse_array(zarray: JSON, zattrs: JSON, where: str = "") -> ArrayMeta:
    """The array that ``.zarray`` and ``.zattrs`` describe; ``where`` is its place, for errors.

    Raises `InvalidMetadata`, `Unsupported`.
    """
    with InNode(where):
        return _array(_version_2(zarray, ".zarray"), object_of(zattrs or {}, ".zattrs"))


def parse_group(zgroup: JSON, zattrs: JSON, where: str = "") -> GroupMeta:
    """The group that ``.zgroup`` and ``.zattrs`` describe."""
    with InNode(where):
        _version_2(zgroup, ".zgroup")
        attributes = object_of(zattrs or {}, ".zattrs")
        return GroupMeta({k: v for k, v in attributes.items() if not k.startswith(NCZARR)}, 2)


def _version_2(value: JSON, name: str) -> dict[str, JSON]:
    document = object_of(value, name)
    if document.get("zarr_format", 2) != 2:
        raise invalid(f"zarr_format {document.get('zarr_format')!r} in a version 2 document")
    return document


def _array(document: Mapping[str, JSON], attributes: Mapping[str, JSON]) -> ArrayMeta:
    for key in REQUIRED:
        if key not in document:
            raise invalid(f"{key!r} is missing")
    stored = _stored(document, attributes) if nczarr_of(document, attributes) else _shared(document)
    names, kept, scalar = _attributes(document, attributes, stored.shape)
    if scalar:
        stored, names = replace(stored, shape=(), grid=RegularGrid(())), ()
    return replace(stored, dimension_names=names, attributes=from_v2_document(kept, stored.data_type))


def _shared(document: Mapping[str, JSON]) -> ArrayMeta:
    """`_stored` of a document without notes by netCDF-C. Archives hold thousands of equal ones."""
    try:
        text = json.dumps(document) if isinstance(document["dtype"], str) else None
    except (TypeError, ValueError, RecursionError):
        text = None
    return _stored(document, {}) if text is None or len(text) > LONGEST_SHARED else _by_text(text)


@lru_cache(maxsize=256)
def _by_text(text: str) -> ArrayMeta:
    return _stored(json.loads(text), {})


def _stored(document: Mapping[str, JSON], attributes: Mapping[str, JSON]) -> ArrayMeta:
    """How an array is stored: all but the names of its dimensions and its attributes."""
    shape = shape_of(document["shape"], "shape")
    chunks = _chunk_shape(document["chunks"], shape)
    data_type, stored, codecs = chain_of(document, attributes)
    if _one_of(document, "order", "C", "F") == "F" and len(shape) > 1:
        codecs = (CodecSpec("transpose", {"order": list(range(len(shape)))[::-1]}), *codecs)
    with InMember("fill_value"):
        fill_value = fill.from_v2(document.get("fill_value"), data_type, stored)
    return ArrayMeta(
        shape=shape,
        data_type=data_type,
        grid=RegularGrid(chunks),
        encodings=(Encoding(codecs),),
        fill_value=fill_value,
        keys=ChunkKeys("v2", "/" if _one_of(document, "dimension_separator", ".", "/") == "/" else "."),
        zarr_format=2,
    )


def _one_of(document: Mapping[str, JSON], key: str, default: str, other: str) -> JSON:
    """A member that has one of two values."""
    value = document.get(key, default)
    if value not in (default, other):
        raise invalid(f"{key}: {value!r} is neither {default!r} nor {other!r}")
    return value


def _chunk_shape(value: JSON, shape: Shape) -> Shape:
    if value is None or value is False:
        return tuple(max(1, n) for n in shape)
    chunks = shape_of(value, "chunks")
    if len(chunks) != len(shape):
        raise invalid(f"chunks: {list(chunks)} of an array of {len(shape)} dimensions")
    for c, n in zip(chunks, shape, strict=True):
        if c == 0 and n:
            raise invalid("chunks: a chunk of length 0")
    return tuple(max(1, c) for c in chunks)


def _attributes(
    zarray: Mapping[str, JSON], attributes: Mapping[str, JSON], shape: Shape
) -> tuple[tuple[str | None, ...] | None, dict[str, JSON], bool]:
    """Dimension names, the attributes that are the user's, and whether this is NCZarr's form of a scalar."""
    kept = {k: v for k, v in attributes.items() if not k.startswith(NCZARR)}
    nczarr = nczarr_of(zarray, attributes) or {}
    names: tuple[str | None, ...] | None = None
    given = kept.get(DIMENSIONS)
    scalar = shape == (1,) and nczarr.get("scalar") in (1, True, "1")
    references = nczarr.get("dimension_references", nczarr.get("dimrefs"))
    if isinstance(given, list) and (scalar or len(given) == len(shape)) and all(isinstance(n, str) for n in given):
        names = tuple(given)
        del kept[DIMENSIONS]
    elif isinstance(references, list) and len(references) == len(shape):
        names = tuple(str(r).rpartition("/")[2] for r in references)
    return names, kept, scalar
