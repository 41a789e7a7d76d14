"""What a fetch needs to know of the sources that a column of numbers speaks of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.spaces import SourceNumbers
from byteatlas.io.source import Source, reads_into
from byteatlas.types import Buffer

WHOLE = -1
"""As a length: the whole source."""
Memory = Callable[[int], memoryview]
"""Gives memory for so many bytes."""


class Sources(Protocol):
    """Files and objects by number. One that is not there is an error when it is opened or read."""

    def open(self, number: int) -> Source: ...

    def local(self, numbers: SourceNumbers) -> NDArray[np.bool_]:
        """For each of these sources, whether reading costs no more than a system call."""
        ...


@runtime_checkable
class OptionalSources(Sources, Protocol):
    """Sources that may say "absent": keys of a store, where a chunk that is not there was never written."""

    def at_once(self) -> int:
        """How many remote sources are best asked for together: 1, unless they are parts of one file."""
        ...

    def size(self, number: int) -> int | None:
        """The size in bytes; None for one that is absent."""
        ...

    def get_many(self, numbers: SourceNumbers) -> list[Buffer | None]:
        """All bytes of some sources, in order; None for those that are absent."""
        ...

    def get_into(self, number: int, memory: Memory) -> Buffer | None:
        """All bytes of a local source, in memory that is given for its size where that saves a copy."""
        ...


def may_say_absent(sources: Sources) -> TypeGuard[OptionalSources]:
    """Whether sources are `OptionalSources`. The class is asked, which is remembered: ``isinstance`` takes longer."""
    return issubclass(type(sources), OptionalSources)


def size_of(sources: Sources, number: int) -> int | None:
    """The size of a source in bytes; None when it is absent. Raises `FetchFailed`."""
    return sources.size(number) if may_say_absent(sources) else sources.open(number).size()


def get_many(sources: Sources, numbers: SourceNumbers) -> list[Buffer | None]:
    """All bytes of some sources, in order; None for those that are absent. Raises `FetchFailed`."""
    if may_say_absent(sources):
        return sources.get_many(numbers)
    return [sources.open(number).read_all() for number in numbers.tolist()]


def get_into(sources: Sources, number: int, memory: Memory) -> Buffer | None:
    """All bytes of a local source, in memory that is given for its size where that saves a copy; None: absent."""
    if may_say_absent(sources):
        return sources.get_into(number, memory)
    source = sources.open(number)
    if not reads_into(source):
        return source.read_all()
    data = memory(source.size())
    source.read_into(0, data)
    return data
