"""The source protocol: one file or object that can be read by byte ranges.

Sources are safe to use from many threads. Caching, coalescing, retrying and counting are sources around a source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeGuard, runtime_checkable

from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass


class Source(Protocol):
    """One file or object."""

    @property
    def url(self) -> str: ...

    def size(self) -> int:
        """Its size in bytes. Raises `FetchFailed` when the file is not there or cannot be reached."""
        ...

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        """The bytes of all ranges, in order, fetched together (one round trip where the storage allows).

        Raises `FetchFailed` for a range that is not wholly inside the file: never returns fewer bytes.
        """
        ...

    def read_all(self) -> Buffer:
        """The whole file."""
        ...


@dataclass(frozen=True, slots=True)
class SourceRecord:
    """What the storage says of a file beside its bytes; None for what it does not tell.

    Attributes:
        size: bytes.
        stamp: what changes when the file does: a modification time in nanoseconds, all digits, for local files, an etag
            or the like for remote ones.
    """

    size: int | None = None
    stamp: str | None = None


class ReadsInto(Source, Protocol):
    """A source that can put bytes into memory that is there, which saves a copy: local files."""

    def read_into(self, offset: int, out: memoryview) -> None:
        """Fill ``out`` with the bytes from ``offset`` on. Raises `FetchFailed`."""
        ...


@runtime_checkable
class _HasReadInto(Protocol):
    def read_into(self, offset: int, out: memoryview) -> None: ...


def reads_into(source: Source) -> TypeGuard[ReadsInto]:
    """Whether a source is a `ReadsInto`. Its class is asked, which is remembered: ``isinstance`` takes microseconds."""
    return issubclass(type(source), _HasReadInto)


@runtime_checkable
class ReadsFirst(Protocol):
    """A source that gives the beginning of a file of unknown size, and then knows the size, for one request."""

    def first(self, most: int) -> Buffer:
        """The first bytes, at most so many. Raises `FetchFailed`; of an empty file too, which has no first byte."""
        ...


def reads_first(source: object) -> TypeGuard[ReadsFirst]:
    """Whether a source is a `ReadsFirst`."""
    return issubclass(type(source), ReadsFirst)


Opener: TypeAlias = Callable[[str], Source]
"""Gives the source for a URL (`byteatlas.io.open.Opener` builds one from storage options and a policy)."""
