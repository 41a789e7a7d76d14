"""Which files describe a variable alike. Thousands of files have mostly one description: it is compared, not hashed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from operator import attrgetter, is_
from typing import Any

import numpy as np

from byteatlas.combining.compare.packing import PACKED_RANGE_ATTRIBUTES, PACKING_ATTRIBUTES
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.types import JSON, Shape

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

MEANING = (
    "units",
    "calendar",
    "positive",
    "standard_name",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "formula_terms",
    "grid_mapping",
)
"""Values of different files mean different things when one of these differs."""
SIGNIFICANT = (*MEANING, *PACKING_ATTRIBUTES, *PACKED_RANGE_ATTRIBUTES)
"""Files in which one of these differs are looked at apart."""
ABSENT: Any = object()


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """Inputs whose metadata for a variable are the same but for the lengths along concatenated axes, and for attributes
    that do not change what values mean.

    Attributes:
        meta: of the first.
        even: the lengths along concatenated axes are known to be the same too.
        documents: the attributes of each member, when they are not the same.
    """

    meta: ArrayMeta
    members: tuple[int, ...]
    even: bool = False
    documents: Mapping[int, Mapping[str, JSON]] = field(default_factory=dict)

    @property
    def attributes(self) -> list[Mapping[str, JSON]]:
        """The attributes of its members, once when they are the same."""
        return [self.documents[i] for i in self.members] if self.documents else [self.meta.attributes]


MOST_SHAPES = 16
"""With more of them there are few descriptions of each."""
BATCH = 256
"""Descriptions that are compared at once: few enough to stay in the processor's cache."""
SHAPE, GRID, CHUNKS, DIMS, ATTRIBUTES, FILL, TYPE, NUMPY, NAME, CONFIGURATION, ENCODINGS, CODECS = map(
    attrgetter,
    (
        "shape", "grid", "chunk_shape", "dimension_names", "attributes", "fill_value", "data_type", "numpy", "name",
        "configuration", "encodings", "codecs",
    ),
)  # fmt: skip
EXTRAS, PLAIN = attrgetter("chunk_shape", "data_type", "cast"), (None, None, ())


@dataclass(slots=True)
class Chains:
    """The encodings of a variable in all files, when they are all equal.

    Variables of one file often have one object for all: what was compared for the last one need not be again.
    """

    equal: list[tuple[Encoding, ...]] = field(default_factory=list)

    def known(self, encodings: list[tuple[Encoding, ...]]) -> bool:
        """Whether these are the very objects that were found equal."""
        return len(encodings) == len(self.equal) and all(map(is_, encodings, self.equal))


def classify(
    metas: Sequence[ArrayMeta], inputs: Sequence[int], free_axes: frozenset[int], chains: Chains | None = None
) -> list[Class]:
    """Group inputs by metadata, in order of first appearance; lengths along ``free_axes`` do not count."""
    first = metas[0]
    # Files that were loaded together share what they have in common: nothing has to be compared then.
    alike_all = EQUAL if all(map(is_, metas, repeat(first))) else plainly_equal(first, metas, chains or Chains())
    if alike_all != DIFFERENT:
        own = {} if alike_all == EQUAL else dict(zip(inputs, map(ATTRIBUTES, metas), strict=True))
        return [Class(first, tuple(inputs), True, own)]
    found: dict[object, list[tuple[ArrayMeta, list[int]]]] = {}
    order: list[tuple[ArrayMeta, list[int]]] = []
    known: dict[int, list[int]] = {}  # by identity: descriptions that files share are looked at once
    for k, meta in enumerate(firsts_of_shapes(metas)):
        members = known.get(id(meta))
        if members is None:
            members = known[id(meta)] = class_of(meta, found, order, free_axes)
        members.append(k)
    places = list(inputs)
    return [
        Class(meta, tuple([places[k] for k in members]), documents=documents_of(meta, members, metas, places))
        for meta, members in order
    ]


def firsts_of_shapes(metas: Sequence[ArrayMeta]) -> Sequence[ArrayMeta]:
    """For each description the first one that says the same, where those of one shape are equal in the simplest way.

    Files of a month or a year have few lengths: descriptions of one length are compared with each other in bulk.
    """
    shapes: dict[Shape, list[int]] = {}
    for k, shape in enumerate(map(SHAPE, metas)):
        shapes.setdefault(shape, []).append(k)
    if not 1 < len(shapes) <= MOST_SHAPES:
        return metas
    result = list(metas)
    for places in shapes.values():
        first = metas[places[0]]
        if plainly_equal(first, [metas[k] for k in places], Chains()) != DIFFERENT:
            for k in places:
                result[k] = first
    return result


def documents_of(
    first: ArrayMeta, members: Sequence[int], metas: Sequence[ArrayMeta], inputs: Sequence[int]
) -> Mapping[int, Mapping[str, JSON]]:
    """The attributes of each member by input; none when they are all the same."""
    own = [metas[k].attributes for k in members]
    return {} if own.count(first.attributes) == len(own) else {inputs[k]: metas[k].attributes for k in members}


DIFFERENT, MEANING_ALIKE, EQUAL = range(3)
"""What many descriptions are; between the extremes: equal but for attributes that do not change what values mean."""


def plainly_equal(first: ArrayMeta, metas: Sequence[ArrayMeta], chains: Chains) -> int:
    """How alike all are, in the simplest way; ``DIFFERENT`` when that needs a closer look.

    This runs for every variable of every file: facts are taken and counted by C code, fact by fact.
    """
    if not isinstance(first.grid, RegularGrid) or len(first.encodings) != 1:
        return DIFFERENT
    one = first.encodings[0]
    if one.chunk_shape is not None or one.data_type is not None or one.cast:
        return DIFFERENT
    found = EQUAL
    for i in range(0, len(metas), BATCH):
        part = metas[i : i + BATCH]
        found = min(found, attributes_alike(first.attributes, list(map(ATTRIBUTES, part))))
        if found == DIFFERENT or not facts_equal(first, part):
            return DIFFERENT
    encodings = list(map(ENCODINGS, metas))
    if not chains.known(encodings):
        if not all(chains_equal(one, encodings[i : i + BATCH]) for i in range(0, len(metas), BATCH)):
            return DIFFERENT
        chains.equal = encodings
    return found


def attributes_alike(first: Mapping[str, JSON], documents: Sequence[Mapping[str, JSON]]) -> int:
    """How alike a few documents of attributes are."""
    n = len(documents)
    if documents.count(first) == n:
        return EQUAL
    for name in SIGNIFICANT:
        wanted, values = first.get(name, ABSENT), [d.get(name, ABSENT) for d in documents]
        if values.count(wanted) != n and not all(same_json(v, wanted) for v in values):
            return DIFFERENT
    return MEANING_ALIKE


def facts_equal(first: ArrayMeta, metas: Sequence[ArrayMeta]) -> bool:
    """Whether a few descriptions say the same of everything but attributes and encodings."""
    n, kind = len(metas), first.data_type
    grids, types = list(map(GRID, metas)), list(map(TYPE, metas))
    return (
        list(map(SHAPE, metas)).count(first.shape) == n
        and list(map(DIMS, metas)).count(first.dimension_names) == n
        and same_fills(first.fill_value, list(map(FILL, metas)))
        and list(map(type, grids)).count(RegularGrid) == n
        and list(map(CHUNKS, grids)).count(getattr(first.grid, "chunk_shape", None)) == n
        and (
            all(map(is_, types, repeat(kind)))
            or (
                list(map(NUMPY, types)).count(kind.numpy) == n
                and list(map(NAME, types)).count(kind.name) == n
                # Of plain numbers, the name and the NumPy type say all.
                and (kind.numpy.kind in "biufc" or list(map(CONFIGURATION, types)).count(kind.configuration) == n)
            )
        )
    )


def chains_equal(one: Encoding, encodings: Sequence[tuple[Encoding, ...]]) -> bool:
    """Whether a few descriptions have one encoding each, which is a chain of codecs and nothing else: this one."""
    n, width = len(encodings), len(one.codecs)
    flat = list(chain.from_iterable(encodings))
    if len(flat) != n or list(map(len, encodings)).count(1) != n or list(map(EXTRAS, flat)).count(PLAIN) != n:
        return False
    codecs = list(map(CODECS, flat))
    if list(map(len, codecs)).count(width) != n:
        return False
    specs = list(chain.from_iterable(codecs))
    return (
        list(map(NAME, specs)) == list(map(NAME, one.codecs)) * n
        and list(map(CONFIGURATION, specs)) == list(map(CONFIGURATION, one.codecs)) * n
    )


def same_fills(wanted: Any, fills: list[Any]) -> bool:
    """Whether all are equal to the wanted one; NaN equals NaN."""
    if isinstance(wanted, np.floating) and wanted != wanted:
        return all(isinstance(f, np.floating) and f != f for f in fills)
    return fills.count(wanted) == len(fills)


def class_of(
    meta: ArrayMeta,
    found: dict[object, list[tuple[ArrayMeta, list[int]]]],
    order: list[tuple[ArrayMeta, list[int]]],
    free_axes: frozenset[int],
) -> list[int]:
    """The members of the class that a description belongs to, or of a new one. ``found`` are classes by `mark`."""
    some = found.setdefault(mark(meta, free_axes), [])
    for known, members in some:
        if alike(meta, known, free_axes):
            return members
    some.append((meta, []))
    order.append(some[-1])
    return some[-1][1]


def mark(meta: ArrayMeta, free_axes: frozenset[int]) -> object:
    """Something to look a description up by: those that are alike have the same."""
    a = meta.attributes
    return (
        tuple([n for i, n in enumerate(meta.shape) if i not in free_axes]),
        meta.data_type.name,
        tuple([hashable(a[name]) if name in a else ABSENT for name in SIGNIFICANT]),
    )


def hashable(value: JSON) -> object:
    """A JSON value by which equal ones (in the sense of `same_json`) can be looked up."""
    if isinstance(value, Mapping):
        return frozenset([(k, hashable(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return tuple([hashable(v) for v in value])
    return value if value == value else None


def alike(a: ArrayMeta, b: ArrayMeta, free_axes: frozenset[int]) -> bool:
    """Whether two arrays differ in nothing but lengths along some axes, and attributes that do not change what values
    mean. Cheapest tests first."""
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
        and (a.attributes is b.attributes or attributes_alike(a.attributes, [b.attributes]) != DIFFERENT)
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
