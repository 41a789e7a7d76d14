"""Which files describe a variable alike. Thousands of files have mostly one description: it is compared, not hashed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any

import numpy as np

from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON

DECODE_FREE: Mapping[str, tuple[str, ...]] = {
    # Settings of these codecs that matter when encoding only: any decoder ignores them.
    "gzip": ("level",),
    "zstd": ("level", "checksum"),
    "blosc": ("cname", "clevel", "shuffle", "typesize", "blocksize"),
    "numcodecs.zlib": ("level",),
    "numcodecs.gzip": ("level",),
    "numcodecs.zstd": ("level", "checksum"),
    "numcodecs.blosc": ("cname", "clevel", "shuffle", "typesize", "blocksize"),
    "numcodecs.bz2": ("level",),
    "numcodecs.lz4": ("acceleration",),
    "numcodecs.imagecodecs_deflate": ("level", "raw"),
}


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """Inputs whose metadata for a variable are the same but for the lengths along concatenated axes.

    ``even``: they are known to be the same along these axes too.
    """

    meta: ArrayMeta
    members: tuple[int, ...]
    even: bool = False


BATCH = 256
"""Descriptions that are compared at once: few enough to stay in the processor's cache."""
SHAPE, GRID, CHUNKS, DIMS, ATTRIBUTES, FILL, TYPE, NUMPY, NAME, CONFIGURATION, ENCODINGS, CODECS = map(
    attrgetter,
    (
        "shape", "grid", "chunk_shape", "dimension_names", "attributes", "fill_value", "data_type", "numpy", "name",
        "configuration", "encodings", "codecs",
    ),
)  # fmt: skip
EXTRAS = attrgetter("chunk_shape", "data_type", "cast")


def classify(metas: Sequence[ArrayMeta], inputs: Sequence[int], free_axes: frozenset[int]) -> list[Class]:
    """Group inputs by metadata, in order of first appearance; lengths along ``free_axes`` do not count."""
    first = metas[0]
    # Files that were scanned together share what they have in common: nothing has to be compared then.
    if all(map(is_, metas, repeat(first))) or plainly_equal(first, metas):
        return [Class(first, tuple(inputs), even=True)]
    found: list[tuple[ArrayMeta, list[int]]] = [(first, [])]
    last, members = found[0]
    known = {id(first): members}
    for i, meta in zip(inputs, metas, strict=True):
        own = known.get(id(meta))
        if own is None:
            if not alike(meta, last, free_axes):
                last, members = class_of(meta, found, free_axes)
            own = known[id(meta)] = members
        own.append(i)
    return [Class(meta, tuple(members)) for meta, members in found]


def plainly_equal(first: ArrayMeta, metas: Sequence[ArrayMeta]) -> bool:
    """Whether all are equal in the simplest way; False when that needs a closer look.

    This runs for every variable of every file: facts are taken and counted by C code, fact by fact.
    """
    if not isinstance(first.grid, RegularGrid) or len(first.encodings) != 1:
        return False
    one = first.encodings[0]
    if one.chunk_shape is not None or one.data_type is not None or one.cast:
        return False
    simple = first.data_type.numpy.kind in "biufc"
    return all(batch_equal(first, metas[i : i + BATCH], simple) for i in range(0, len(metas), BATCH))


def batch_equal(first: ArrayMeta, metas: Sequence[ArrayMeta], simple: bool) -> bool:
    """`plainly_equal` for a few descriptions. ``simple``: the name and NumPy type say all of the data type."""
    n = len(metas)

    def same(fact: Callable[[Any], Any], things: Iterable[Any], wanted: object) -> bool:
        return list(map(fact, things)).count(wanted) == n

    grids, types = list(map(GRID, metas)), list(map(TYPE, metas))
    encodings = list(chain.from_iterable(map(ENCODINGS, metas)))
    if not (
        len(encodings) == n
        and same(SHAPE, metas, first.shape)
        and same(DIMS, metas, first.dimension_names)
        and same(ATTRIBUTES, metas, first.attributes)
        and same_fills(first.fill_value, list(map(FILL, metas)))
        and same(type, grids, RegularGrid)
        and same(CHUNKS, grids, getattr(first.grid, "chunk_shape", None))
        and (
            (len(set(map(id, types))) == 1 and types[0] is first.data_type)
            or (
                same(NUMPY, types, first.data_type.numpy)
                and same(NAME, types, first.data_type.name)
                and (simple or same(CONFIGURATION, types, first.data_type.configuration))
            )
        )
        and same(EXTRAS, encodings, (None, None, ()))
    ):
        return False
    chains = list(map(CODECS, encodings))
    wanted = first.encodings[0].codecs
    if not same(len, chains, len(wanted)):
        return False
    specs = list(chain.from_iterable(chains))
    step = len(wanted)
    return all(
        same(NAME, specs[j::step], codec.name) and same(CONFIGURATION, specs[j::step], codec.configuration)
        for j, codec in enumerate(wanted)
    )


def same_fills(wanted: Any, fills: list[Any]) -> bool:
    """Whether all are equal to the wanted one; NaN equals NaN."""
    if isinstance(wanted, np.floating) and wanted != wanted:
        return all(isinstance(f, np.floating) and f != f for f in fills)
    return fills.count(wanted) == len(fills)


def class_of(
    meta: ArrayMeta, found: list[tuple[ArrayMeta, list[int]]], free_axes: frozenset[int]
) -> tuple[ArrayMeta, list[int]]:
    """The class that a description belongs to, or a new one."""
    for known in found:
        if alike(meta, known[0], free_axes):
            return known
    new: tuple[ArrayMeta, list[int]] = (meta, [])
    found.append(new)
    return new


def alike(a: ArrayMeta, b: ArrayMeta, free_axes: frozenset[int]) -> bool:
    """Whether two arrays differ in nothing but lengths along some axes. Cheapest tests first."""
    if a.shape != b.shape and (
        len(a.shape) != len(b.shape)
        or any(x != y for i, (x, y) in enumerate(zip(a.shape, b.shape, strict=True)) if i not in free_axes)
    ):
        return False
    return (
        a.data_type.name == b.data_type.name
        and a.data_type.numpy == b.data_type.numpy
        and a.data_type.configuration == b.data_type.configuration
        and a.grid == b.grid
        and same_encodings(a.encodings, b.encodings)
        and same_scalar(a.fill_value, b.fill_value)
        and a.dimension_names == b.dimension_names
        and same_json(a.attributes, b.attributes)
    )


def same_encodings(a: tuple[Encoding, ...], b: tuple[Encoding, ...]) -> bool:
    """Whether chunks decode alike by either."""
    if a is b:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if not same_codecs(x.codecs, y.codecs) or x.chunk_shape != y.chunk_shape:
            return False
        if x.data_type != y.data_type or x.cast != y.cast:
            return False
    return True


def same_codecs(a: tuple[CodecSpec, ...], b: tuple[CodecSpec, ...]) -> bool:
    if a is b:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        if x.name != y.name:
            return False
        if x.configuration != y.configuration and decoding(x) != decoding(y):
            return False
    return True


def decoding(codec: CodecSpec) -> Mapping[str, JSON]:
    """A codec's configuration without what only its encoder uses."""
    free = DECODE_FREE.get(codec.name)
    if free is None:
        return codec.configuration
    return {k: v for k, v in codec.configuration.items() if k not in free}


def decode_equal(a: Encoding, b: Encoding) -> bool:
    """Whether the same bytes give the same array by either encoding."""
    return same_encodings((a,), (b,))


def same_scalar(a: object, b: object) -> bool:
    """Equality under which NaN equals NaN, and None is not zero; structured and string scalars too."""
    if a is b:
        return True
    if a is None or b is None:
        return False
    equal: Any = a == b
    if isinstance(equal, bool):
        return equal or (a != a and b != b)
    if getattr(equal, "shape", ()) == ():
        return bool(equal) or (bool(a != a) and bool(b != b))
    return bool(equal.all()) if hasattr(equal, "all") else False


def same_json(a: JSON, b: JSON) -> bool:
    """Equality of JSON values under which NaN equals NaN."""
    if a == b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_json(v, b[k]) for k, v in a.items())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same_json(x, y) for x, y in zip(a, b, strict=True))
    return bool(a != a and b != b)


def show_json(value: JSON, limit: int = 60) -> str:
    """A JSON value for a message."""
    text = json.dumps(value, default=str)
    return text if len(text) <= limit else text[: limit - 3] + "..."
