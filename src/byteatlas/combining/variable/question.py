"""A variable of many files, about to be reconciled."""

from __future__ import annotations

from collections.abc import Sequence

from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.model import CombineOptions
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A variable to reconcile.

    Attributes:
        absent: whether some files (or tiles) do not have it.
        holes: for each class, whether any of its manifests has missing chunks.
        skip: attributes that are reconciled elsewhere.
    """

    path: str
    classes: Sequence[MetadataClass]
    names: Sequence[str]
    absent: bool
    holes: Sequence[bool]
    options: CombineOptions
    skip: frozenset[str] = frozenset()


def files_of(q: Question, classes: Sequence[int]) -> tuple[str, ...]:
    return tuple(q.names[i] for c in classes for i in q.classes[c].members)
