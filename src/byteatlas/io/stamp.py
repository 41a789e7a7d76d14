"""Is a source still the file that was indexed?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from byteatlas.errors import SourceChanged
from byteatlas.io.local import LocalSource
from byteatlas.io.source import Source, SourceRecord
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import dataclass

Check: TypeAlias = Literal["free", "size", "stamp", "off"]
"""What of a source is compared with the record of it: ``free`` all that costs no request (size and modification time of
local files; of remote ones the etag and size that come with the bytes), ``size`` the size alone, ``stamp`` the size and
the etag or modification time, before anything is read, ``off`` nothing."""

SECOND = 1_000_000_000
_ON_THE_WAY = re.compile(r"(-{1,2}|;)(gzip|br|zstd|deflate)$")
"""What web servers add to the etag of an answer that they compress."""


def _innermost(source: Any) -> Any:
    while not hasattr(source, "stamp") and hasattr(source, "inner"):
        source = source.inner
    return source


def stamp_of(source: Source) -> str | None:
    """The etag or modification time of a source, as text; None where the storage does not tell."""
    inner = _innermost(source)
    found: str | None = inner.stamp() if hasattr(inner, "stamp") else None
    return found


def number_of(source: Source) -> str | None:
    """The storage's own number for the state of a source that the answers so far were about, where it has them."""
    found: str | None = getattr(_innermost(source), "version", None)
    return found


def facts_of(source: Source) -> SourceRecord:
    """What is known of a source without asking for anything: of local files as they were opened."""
    inner = _innermost(source)
    if isinstance(inner, LocalSource):
        return SourceRecord(inner.size(), inner.stamp())
    found = getattr(inner, "facts", None)
    return found if isinstance(found, SourceRecord) else SourceRecord()


def same_stamp(recorded: str, found: str) -> bool:
    """Whether two stamps may be those of one file. Stamps of two kinds (a time, an etag) say nothing of each other.

    Tools that copy files may keep whole seconds of their times only; web servers mark etags of compressed answers.

    >>> same_stamp("1700000000123456789", "1700000000000000000"), same_stamp("1", "2")
    (True, False)
    """
    if _kind(recorded) != _kind(found):
        return True
    if recorded.isdigit():
        now = int(found)
        return int(recorded) == now or (now % SECOND == 0 and int(recorded) // SECOND == now // SECOND)
    return _etag(recorded) == _etag(found)


def _kind(stamp: str) -> str:
    """A time, a quoted etag, or something else (a date, an object store's own)."""
    return "time" if stamp.isdigit() else "etag" if stamp.endswith('"') else "other"


def _etag(text: str) -> str:
    return _ON_THE_WAY.sub("", text.removeprefix("W/").strip('"'))


def compare(url: str, recorded: SourceRecord, found: SourceRecord) -> None:
    """Raise `SourceChanged` where what is known on both sides differs."""
    if recorded.size is not None and found.size is not None and recorded.size != found.size:
        raise SourceChanged(url, "size", recorded.size, found.size)
    if recorded.stamp is not None and found.stamp is not None and not same_stamp(recorded.stamp, found.stamp):
        raise SourceChanged(url, "stamp (etag or modification time)", recorded.stamp, found.stamp)


def learned(url: str, known: SourceRecord, found: SourceRecord) -> SourceRecord:
    """What is known of a file after one more answer. What is known once stays: it is what all answers are held against.

    Raises `SourceChanged` for an answer about another file than the earlier ones.
    """
    compare(url, known, found)
    return SourceRecord(
        found.size if known.size is None else known.size, found.stamp if known.stamp is None else known.stamp
    )


def check_unchanged(source: Source) -> None:
    """Raise `SourceChanged` when a local file was written to since it was opened. Others look at their answers."""
    inner = _innermost(source)
    if isinstance(inner, LocalSource):
        try:
            compare(source.url, facts_of(inner), inner.now())
        except SourceChanged as error:
            raise SourceChanged(error.url, error.what, error.recorded, error.found, when="opened") from None


def checked(source: Source, size: int | None, stamp: str | None, check: Check = "free") -> Source:
    """The source, once it was compared with what was recorded when it was indexed, or one that compares as it reads.

    Nothing recorded, nothing compared.

    Raises:
        SourceChanged: size or stamp differ.
        FetchFailed: the storage does not answer.
    """
    if check == "off" or (size is None and stamp is None):
        return source
    inner = _innermost(source)
    if isinstance(inner, LocalSource):
        now = inner.now()
        found = now if source is inner else SourceRecord(source.size(), now.stamp)
        compare(source.url, SourceRecord(size, None if check == "size" else stamp), found)
    elif check == "free":
        if hasattr(inner, "facts"):
            return ComparedSource(source, SourceRecord(size if source.url == inner.url else None, stamp))
    else:
        found = SourceRecord(source.size(), stamp_of(source) if check == "stamp" else None)
        compare(source.url, SourceRecord(size, stamp), found)
    return source


@dataclass(frozen=True, slots=True)
class ComparedSource:
    """A remote source that is compared with a record by what its answers say."""

    inner: Source
    recorded: SourceRecord

    @property
    def url(self) -> str:
        return self.inner.url

    def size(self) -> int:
        size = self.inner.size()
        self._compare()
        return size

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        """As every source. Raises `SourceChanged` instead of giving bytes of another file."""
        found = self.inner.read(ranges)
        self._compare()
        return found

    def read_all(self) -> Buffer:
        data = self.inner.read_all()
        self._compare()
        return data

    def _compare(self) -> None:
        compare(self.url, self.recorded, _innermost(self.inner).facts)
