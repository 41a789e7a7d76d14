"""Which files describe a variable alike. Thousands of files have mostly one description: it is compared, not hashed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import cast

from byteatlas.codecs.core.encoding_only import decoding_ignores
from byteatlas.combining.compare.bulk import DIFFERENT, EQUAL, KnownEncodings, compare_all, compare_attributes
from byteatlas.combining.compare.significant import ABSENT, SIGNIFICANT
from byteatlas.combining.model import InputNumber
from byteatlas.meta.compare import (
    all_identical_documents,
    decode_alike,
    identical_grids,
    identical_scalars,
    identical_types,
)
from byteatlas.meta.model import ArrayMeta
from byteatlas.types import JSON, Shape
from byteatlas.values import dataclass, field

SHAPE, ATTRIBUTES = map(attrgetter, ("shape", "attributes"))
MOST_SHAPES = 16
"""With more of them there are few descriptions of each."""


@dataclass(frozen=True, slots=True, eq=False)
class MetadataClass:
    """Inputs whose metadata for a variable are the same but for the lengths along concatenated axes, and for attributes
    that do not change what values mean.

    Attributes:
        meta: of the first.
        even: the lengths along concatenated axes are known to be the same too.
        documents: the attributes of each member, when they are not the same.
    """

    meta: ArrayMeta
    members: tuple[InputNumber, ...]
    even: bool = False
    documents: Mapping[InputNumber, Mapping[str, JSON]] = field(default_factory=dict)

    @property
    def attributes(self) -> list[Mapping[str, JSON]]:
        """The attributes of its members, once when they are the same."""
        return [self.documents[i] for i in self.members] if self.documents else [self.meta.attributes]


def classify(
    metas: Sequence[ArrayMeta],
    inputs: Sequence[int],
    free_axes: frozenset[int],
    equal_before: KnownEncodings | None = None,
) -> list[MetadataClass]:
    """Group inputs by their metadata, in order of first appearance; lengths along ``free_axes`` do not count."""
    first, numbers = metas[0], cast("Sequence[InputNumber]", inputs)
    # Files that were loaded together share what they have in common: nothing has to be compared then.
    found_all = (
        EQUAL if all(map(is_, metas, repeat(first))) else compare_all(first, metas, equal_before or KnownEncodings())
    )
    if found_all != DIFFERENT:
        own = {} if found_all == EQUAL else dict(zip(numbers, map(ATTRIBUTES, metas), strict=True))
        return [MetadataClass(first, tuple(numbers), True, own)]
    found: dict[object, list[tuple[ArrayMeta, list[int]]]] = {}
    order: list[tuple[ArrayMeta, list[int]]] = []
    known: dict[int, list[int]] = {}  # by identity: descriptions that files share are looked at once
    for k, meta in enumerate(firsts_of_shapes(metas)):
        members = known.get(id(meta))
        if members is None:
            members = known[id(meta)] = class_of(meta, found, order, free_axes)
        members.append(k)
    return [
        MetadataClass(meta, tuple([numbers[k] for k in members]), documents=documents_of(meta, members, metas, numbers))
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
        if compare_all(first, [metas[k] for k in places], KnownEncodings()) != DIFFERENT:
            for k in places:
                result[k] = first
    return result


def documents_of(
    first: ArrayMeta, members: Sequence[int], metas: Sequence[ArrayMeta], inputs: Sequence[InputNumber]
) -> Mapping[InputNumber, Mapping[str, JSON]]:
    """The attributes of each member by input; none when they are all the same."""
    own = [metas[k].attributes for k in members]
    return {} if all_identical_documents(first.attributes, own) else {inputs[k]: metas[k].attributes for k in members}


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
    """A JSON value by which equal ones (in the sense of `equal_in_value`) can be looked up."""
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
        identical_types(a.data_type, b.data_type)
        and identical_grids(a.grid, b.grid)
        and decode_alike(a.encodings, b.encodings, decoding_ignores)
        and identical_scalars(a.fill_value, b.fill_value)
        and a.dimension_names == b.dimension_names
        and (a.attributes is b.attributes or compare_attributes(a.attributes, [b.attributes]) != DIFFERENT)
    )
