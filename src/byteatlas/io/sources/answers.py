"""What a web server's answer says of the file, and whether that fits to what it said before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from byteatlas.errors import FetchFailed, SourceChanged
from byteatlas.types import ByteRange


class FileFacts(NamedTuple):
    """What is known of a file; None: not known. ``ranges``: the server gave a part when asked for one."""

    size: int | None = None
    etag: str | None = None
    modified: str | None = None
    ranges: bool = False
    kept: str | None = None
    """The stamp that a map recorded: an etag or a time, whichever the server gave then."""

    @property
    def stamp(self) -> str | None:
        return self.etag or self.modified

    def agreeing(self, url: str, found: FileFacts) -> FileFacts:
        """Both together. Raises `SourceChanged` where they contradict each other.

        A weak etag (RFC 9110 8.8.1) says that two files mean the same, not that their bytes are equal: it is compared
        like any other, since a server that changes it has changed something.
        """
        for what, before, now in (
            ("size", self.size, found.size),
            ("etag", self.etag, found.etag),
            ("modification time", self.modified if not (self.etag and found.etag) else None, found.modified),
        ):
            if before is not None and now is not None and before != now:
                raise SourceChanged(url, what, before, now)
        if self.kept is not None and self.kept[:1] in ('"', "W") and found.etag is not None and found.etag != self.kept:
            raise SourceChanged(url, "etag", self.kept, found.etag)
        return self._replace(
            size=found.size if self.size is None else self.size,
            etag=self.etag or found.etag,
            modified=self.modified or found.modified,
        )

    def recorded(self, size: int | None, stamp: str | None) -> FileFacts:
        """With what a map says of the file."""
        return self._replace(size=self.size if size is None else size, kept=stamp)


def facts_of(headers: Mapping[str, str]) -> FileFacts:
    """Of an answer with the whole file, or of one that only tells of it."""
    length = headers.get("Content-Length", "")
    size = int(length) if length.isdigit() and not _encoded(headers) else None
    return FileFacts(size, headers.get("ETag"), headers.get("Last-Modified"))


def check_part(url: str, headers: Mapping[str, str], where: ByteRange, known: FileFacts) -> FileFacts:
    """What an answer with a part (206) says of the file.

    Raises `FetchFailed` when it is not the part that was asked for (RFC 9110 14.4), or not as it lies in the file.
    """
    if _encoded(headers):
        raise FetchFailed(url, f"the server compresses parts ({headers['Content-Encoding']})", where)
    unit, _, rest = headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    first, _, last = span.partition("-")
    if unit.lower() != "bytes" or not (first.isdigit() and last.isdigit() and (total.isdigit() or total == "*")):
        shown = headers.get("Content-Range")
        why = "does not say of which place" if shown is None else f"says of its place: {shown[:80]}"
        raise FetchFailed(url, f"the server answered with a part, but {why}", where)
    size = int(total) if total != "*" else None
    if int(first) == where.offset and size is not None and int(last) == size - 1 < where.end - 1:
        raise FetchFailed(url, f"the file has only {size} bytes", where)
    if (int(first), int(last)) != (where.offset, where.end - 1):
        raise FetchFailed(url, f"the server answered with bytes {first} to {last}", where, transient=True)
    return FileFacts(size, headers.get("ETag"), headers.get("Last-Modified"))


def check_whole(url: str, headers: Mapping[str, str], known: FileFacts, most: int) -> int | None:
    """The length of the body of an answer with the whole file; None when it is not said.

    Raises `SourceChanged` when it is not the file that was seen before, `FetchFailed` when it is too large to be read.
    """
    found = facts_of(headers)
    known.agreeing(url, found)
    if found.size is not None and found.size > most:
        raise FetchFailed(url, f"has {found.size} bytes, and the server gives no parts: too much to be read whole")
    return found.size


def wait_of(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` asks for: a number or a date (RFC 9110 10.2.3)."""
    text = headers.get("Retry-After", "").strip()
    if text.isdigit():
        return float(text)
    if not text:
        return None
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError):
        return None


def _encoded(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")
