"""Thousands of descriptions compared with one, fact by fact: facts are taken and counted by C code.

What is found here is what `byteatlas.meta.compare` says of them one by one. Where counting cannot tell, the answer is
"different", and a closer look follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, is_

from byteatlas.combining.compare.significant import ABSENT, SIGNIFICANT
from byteatlas.meta.compare import (
    all_equal_in_value,
    all_identical_documents,
    all_identical_scalars,
)
from byteatlas.meta.model import ArrayMeta, Encoding, RegularGrid
from byteatlas.types import JSON
from byteatlas.values import dataclass, field

BATCH = 256
"""Descriptions that are compared at once: few enough to stay in the processor's cache."""
SHAPE, GRID, CHUNKS, DIMS, ATTRIBUTES, FILL, TYPE, NUMPY, NAME, CONFIGURATION, UNDERSTOOD, ENCODINGS, CODECS = map(
    attrgetter,
    (
        "shape", "grid", "chunk_shape", "dimension_names", "attributes", "fill_value", "data_type", "numpy", "name",
        "configuration", "must_understand", "encodings", "codecs",
    ),
)  # fmt: skip
EXTRAS, PLAIN = attrgetter("chunk_shape", "data_type", "cast"), (None, None, ())


@dataclass(slots=True)
class KnownEncodings:
    """The encodings of a variable in all files, when they are all equal.

    Variables of one file often have one object for all: what was compared for the last one need not be again.
    """

    equal: list[tuple[Encoding, ...]] = field(default_factory=list)

    def known(self, encodings: list[tuple[Encoding, ...]]) -> bool:
        """Whether these are the very objects that were found equal."""
        return len(encodings) == len(self.equal) and all(map(is_, encodings, self.equal))


DIFFERENT, MEANING_ALIKE, EQUAL = range(3)
"""What many descriptions are; between the extremes: equal but for attributes that do not change what values mean."""


def compare_all(first: ArrayMeta, metas: Sequence[ArrayMeta], equal_before: KnownEncodings) -> int:
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
        found = min(found, compare_attributes(first.attributes, list(map(ATTRIBUTES, part))))
        if found == DIFFERENT or not facts_equal(first, part):
            return DIFFERENT
    encodings = list(map(ENCODINGS, metas))
    if not equal_before.known(encodings):
        if not all(chains_equal(one, encodings[i : i + BATCH]) for i in range(0, len(metas), BATCH)):
            return DIFFERENT
        equal_before.equal = encodings
    return found


def compare_attributes(first: Mapping[str, JSON], documents: Sequence[Mapping[str, JSON]]) -> int:
    """How alike a few documents of attributes are."""
    if all_identical_documents(first, documents):
        return EQUAL
    for name in SIGNIFICANT:
        if not all_equal_in_value(first.get(name, ABSENT), [d.get(name, ABSENT) for d in documents]):
            return DIFFERENT
    return MEANING_ALIKE


def facts_equal(first: ArrayMeta, metas: Sequence[ArrayMeta]) -> bool:
    """Whether a few descriptions say the same of everything but attributes and encodings."""
    n, kind = len(metas), first.data_type
    grids, types = list(map(GRID, metas)), list(map(TYPE, metas))
    return (
        list(map(SHAPE, metas)).count(first.shape) == n
        and list(map(DIMS, metas)).count(first.dimension_names) == n
        and all_identical_scalars(first.fill_value, list(map(FILL, metas)))
        and list(map(type, grids)).count(RegularGrid) == n
        and list(map(CHUNKS, grids)).count(getattr(first.grid, "chunk_shape", None)) == n
        and (
            all(map(is_, types, repeat(kind)))
            or (
                list(map(NUMPY, types)).count(kind.numpy) == n
                and list(map(NAME, types)).count(kind.name) == n
                # Of plain numbers, the name and the NumPy type say all.
                and (
                    kind.numpy.kind in "biufc"
                    or all_identical_documents(kind.configuration, list(map(CONFIGURATION, types)))
                )
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
        and list(map(UNDERSTOOD, specs)) == list(map(UNDERSTOOD, one.codecs)) * n
        and all(
            all_identical_documents(codec.configuration, list(map(CONFIGURATION, specs[i::width])))
            for i, codec in enumerate(one.codecs)
        )
    )
