"""Pieces that the metadata documents of all versions share: shapes, names, extension objects, chunk grids."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import Unsupported
from byteatlas.meta.dtypes import MOST_AXES
from byteatlas.meta.model import ChunkGrid, ChunkKeys, CodecSpec, RectilinearGrid, RegularGrid
from byteatlas.meta.place import InMember, invalid
from byteatlas.types import JSON, Shape

MOST_LENGTH = 1 << 63
MOST_CHUNKS = 1 << 24
"""Chunks along one axis of a rectilinear grid."""
LONGEST_SHARED = 4096
"""Characters of a document that is remembered, because many equal ones follow."""
DIMENSIONS = "_ARRAY_DIMENSIONS"
"""The attribute in which version 2 keeps dimension names (xarray's convention)."""
_URL = re.compile(r"https?://(?:codec\.zarr\.dev|zarr\.dev)/numcodecs/(\w+)")
RENAMED = {"endian": "bytes"}
"""Codec names of drafts before 2023, as their final names."""


def shape_of(value: JSON, what: str, least: int = 0) -> Shape:
    """A list of integers from ``least`` up. Integral floats count (some writers have no integers)."""
    if not isinstance(value, list) or len(value) > MOST_AXES:
        raise invalid(f"{what}: {value!r} is not a list of at most {MOST_AXES} lengths")
    return tuple(length_of(n, what, least) for n in value)


def length_of(value: JSON, what: str, least: int = 0) -> int:
    """An integer in [least, 2**63)."""
    if type(value) is int and least <= value < MOST_LENGTH:
        return value
    if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value.is_integer())):
        raise invalid(f"{what}: {value!r} is not an integer")
    if not least <= value < MOST_LENGTH:
        raise invalid(f"{what}: {value!r} is out of range")
    return int(value)


def object_of(value: JSON, what: str) -> dict[str, JSON]:
    """A JSON object, or an error."""
    if not isinstance(value, dict):
        raise invalid(f"{what} is not an object")
    return value


def extension(value: JSON, what: str) -> CodecSpec:
    """A named extension: the name alone, or an object with name, configuration and must_understand (v3 core)."""
    if isinstance(value, str):
        return CodecSpec(value)
    document = object_of(value, what)
    name, configuration = document.get("name"), document.get("configuration")
    must = document.get("must_understand", True)
    if not isinstance(name, str) or not name or not isinstance(must, bool):
        raise invalid(f"{what} {value!r} has no name")
    if configuration is not None and not isinstance(configuration, dict):
        raise invalid(f"{what} {name!r}: the configuration is not an object")
    for key, member in document.items():
        if key not in ("name", "configuration", "must_understand") and not ignorable(member):
            raise invalid(f"{what} {name!r}: unknown member {key!r}")
    return CodecSpec(name, configuration or {}, must)


def ignorable(member: JSON) -> bool:
    """Whether a member that is not known may be passed over (v3 core, "Extensions")."""
    return isinstance(member, dict) and member.get("must_understand") is False


def codecs_of(value: JSON, what: str) -> tuple[CodecSpec, ...]:
    """The codecs in member ``what``; names of drafts and the URLs of early numcodecs names become today's."""
    with InMember(what):
        if not isinstance(value, list) or not value:
            raise invalid(f"{value!r} is not a list of at least one codec")
        return tuple(_renamed(extension(item, f"codec {i}")) for i, item in enumerate(value))


def _renamed(spec: CodecSpec) -> CodecSpec:
    match = _URL.fullmatch(spec.name)
    name = f"numcodecs.{match[1]}" if match else RENAMED.get(spec.name, spec.name)
    return CodecSpec(name, spec.configuration, spec.must_understand)


def codec_json(spec: CodecSpec) -> JSON:
    """A codec as version 3 writes it."""
    out: dict[str, JSON] = {"name": spec.name}
    if spec.configuration or spec.name.startswith("numcodecs."):  # zarr-python wants one for these, be it empty
        out["configuration"] = dict(spec.configuration)
    if not spec.must_understand:
        out["must_understand"] = False
    return out


# ------------------------------------------------------------------------------------------------------ grids


def grid_of(value: JSON, shape: Shape) -> ChunkGrid:
    """The chunk grid of a version 3 document. Raises `Unsupported` for one that is not known."""
    spec = extension(value, "chunk_grid")
    if not spec.must_understand:
        raise invalid("must_understand is not allowed to be false for a chunk grid")
    known = spec.configuration
    match spec.name:
        case "regular":
            return RegularGrid(_chunks(known.get("chunk_shape"), shape))
        case "zarrs.regular_bounded":
            chunks = _chunks(known.get("chunk_shape"), shape)
            return RectilinearGrid(tuple(_bounded(n, c) for n, c in zip(shape, chunks, strict=True)))
        case "rectilinear":
            return _rectilinear(known, shape)
    raise Unsupported("chunk-grid", f"unknown chunk grid {spec.name!r}")


def _chunks(value: JSON, shape: Shape) -> Shape:
    chunks = shape_of(value, "chunk_shape", 1)
    if len(chunks) != len(shape):
        raise invalid(f"chunk_shape {list(chunks)} of an array of {len(shape)} dimensions")
    return chunks


def _count(n: int) -> None:
    if n > MOST_CHUNKS:
        raise Unsupported("too-large", f"{n} chunks along one axis of a rectilinear grid")


def _bounded(length: int, chunk: int) -> tuple[int, ...]:
    whole, rest = divmod(length, chunk)
    _count(whole)
    return (chunk,) * whole + ((rest,) if rest else ())


def _rectilinear(known: Mapping[str, JSON], shape: Shape) -> RectilinearGrid:
    if known.get("kind", "inline") != "inline":
        raise Unsupported("chunk-grid", f"rectilinear grid of kind {known.get('kind')!r}")
    axes = known.get("chunk_shapes")
    if not isinstance(axes, list) or len(axes) != len(shape):
        raise invalid("chunk_shapes needs one entry per dimension")
    edges = tuple(_edges(axis, n) for axis, n in zip(axes, shape, strict=True))
    for given, n in zip(edges, shape, strict=True):
        if sum(given) < n:
            raise invalid(f"chunks of {sum(given)} in all do not cover an axis of length {n}")
    return RectilinearGrid(edges)


def _edges(axis: JSON, length: int) -> tuple[int, ...]:
    if not isinstance(axis, list):
        chunk = length_of(axis, "chunk length", 1)
        count = -(-length // chunk)
        _count(count)
        return (chunk,) * count
    out: list[int] = []
    for item in axis:
        if isinstance(item, list):
            if len(item) != 2:
                raise invalid(f"run {item!r} is not [length, count]")
            chunk, count = length_of(item[0], "chunk length", 1), length_of(item[1], "run", 1)
            _count(len(out) + count)
            out += [chunk] * count
        else:
            out.append(length_of(item, "chunk length", 1))
    _count(len(out))
    return tuple(out)


def grid_json(grid: ChunkGrid) -> JSON:
    """A chunk grid as version 3 writes it; equal neighbours of a rectilinear grid as runs."""
    match grid:
        case RegularGrid(chunk_shape):
            return {"name": "regular", "configuration": {"chunk_shape": list(chunk_shape)}}
        case RectilinearGrid(edges):
            shapes = [[[n, count] if count > 1 else n for n, count in runs_of(axis)] for axis in edges]
            return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}


def runs_of(values: Sequence[int] | NDArray[Any]) -> list[tuple[int, int]]:
    """Runs of equal neighbours as (value, how many).

    >>> runs_of([3, 3, 5])
    [(3, 2), (5, 1)]
    """
    line = np.asarray(values)
    if not len(line):
        return []
    starts = np.concatenate([[0], np.flatnonzero(line[1:] != line[:-1]) + 1])
    counts = np.diff(np.append(starts, len(line)))
    return list(zip(line[starts].tolist(), counts.tolist(), strict=True))


# ------------------------------------------------------------------------------------------------------ keys


def keys_of(value: JSON) -> ChunkKeys:
    """The chunk key encoding of a version 3 document."""
    spec = extension(value, "chunk_key_encoding")
    if not spec.must_understand:
        raise invalid("must_understand is not allowed to be false for a chunk key encoding")
    if spec.name not in ("default", "v2", "zarrs.default_suffix"):
        raise Unsupported("chunk-keys", f"unknown chunk key encoding {spec.name!r}")
    separator = spec.configuration.get("separator", "." if spec.name == "v2" else "/")
    suffix = spec.configuration.get("suffix", "") if spec.name == "zarrs.default_suffix" else ""
    if separator not in ("/", ".") or not isinstance(suffix, str) or "/" in suffix or "\0" in suffix:
        raise invalid(f"chunk keys with separator {separator!r}")
    return ChunkKeys("v2" if spec.name == "v2" else "default", separator, suffix)


def keys_json(keys: ChunkKeys) -> JSON:
    """A chunk key encoding as version 3 writes it."""
    configuration: dict[str, JSON] = {"separator": keys.separator}
    if keys.suffix:
        return {"name": "zarrs.default_suffix", "configuration": {**configuration, "suffix": keys.suffix}}
    return {"name": keys.kind, "configuration": configuration}


def names_of(value: JSON, ndim: int) -> tuple[str | None, ...] | None:
    """Dimension names of a version 3 document; None when there are none."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != ndim or not all(n is None or isinstance(n, str) for n in value):
        raise invalid(f"dimension_names: {value!r} of an array of {ndim} dimensions")
    return tuple(value)
