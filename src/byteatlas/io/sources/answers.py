"""What a web server's answer says of the file, and whether that fits to what it said before."""

from __future__ import annotations

import re
from collections.abc import Mapping

from byteatlas.errors import FetchFailed
from byteatlas.io.source import SourceRecord
from byteatlas.io.stamp import compare
from byteatlas.types import Buffer, ByteRange

MOST_BEFORE = 512
"""Bytes of a file by which a web page is known."""
_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!--|(?:!doctype html|html|head|script|iframe|h1|div|font|table|a"
    rb"|style|title|b|body|br|p)[\s>])",
    re.IGNORECASE,
)
"""How web pages begin (WHATWG, MIME Sniffing 7.1)."""
MOST_DIGITS = 20
"""Of a number in a header: 2**64 has so many."""


def facts_of_answer(headers: Mapping[str, str]) -> SourceRecord:
    """Of an answer with the whole file, or of one that only tells of it."""
    length = headers.get("Content-Length", "")
    size = int(length) if _number(length) and not _encoded(headers) else None
    return SourceRecord(size, _stamp(headers))


def check_part(url: str, headers: Mapping[str, str], where: ByteRange) -> SourceRecord:
    """What an answer with a part (206) says of the file.

    Raises `FetchFailed` when it is not the part that was asked for (RFC 9110 14.4), or not as it lies in the file.
    """
    if _encoded(headers):
        raise FetchFailed(url, f"the server compresses parts ({headers['Content-Encoding']})", where)
    unit, _, rest = headers.get("Content-Range", "").partition(" ")
    span, _, total = rest.partition("/")
    first, _, last = span.partition("-")
    if unit.lower() != "bytes" or not (_number(first) and _number(last) and (_number(total) or total == "*")):
        shown = headers.get("Content-Range")
        why = "does not say of which place" if shown is None else f"says of its place: {shown[:80]}"
        raise FetchFailed(url, f"the server answered with a part, but {why}", where)
    size = int(total) if total != "*" else None
    if int(first) == where.offset and size is not None and int(last) == size - 1 < where.end - 1:
        raise FetchFailed(url, f"the file has only {size} bytes", where)
    if (int(first), int(last)) != (where.offset, where.end - 1):
        raise FetchFailed(url, f"the server answered with bytes {first} to {last}", where, transient=True)
    return SourceRecord(size, _stamp(headers))


def within_file(headers: Mapping[str, str], where: ByteRange) -> ByteRange:
    """What of a range from the first byte on lies in a file, by the size that an answer with a part says."""
    total = headers.get("Content-Range", "").rpartition("/")[2]
    return ByteRange(0, min(where.length, int(total))) if _number(total) and int(total) else where


def check_whole(url: str, headers: Mapping[str, str], known: SourceRecord, most: int) -> int | None:
    """The length of the body of an answer with the whole file; None when it is not said.

    Raises `SourceChanged` when it is not the file that was seen before, `FetchFailed` when it is too large to be read,
    or a web page that has neither time nor etag.
    """
    found = facts_of_answer(headers)
    if found.stamp is None and is_labelled_page(headers):
        # a portal, even where its page is as long as the file: what is a file has a time or an etag
        raise FetchFailed(url, "the server answered with a web page", transient=True)
    compare(url, known, found)
    if found.size is not None and found.size > most:
        raise FetchFailed(url, f"has {found.size} bytes, and the server gives no parts: too much to be read whole")
    return found.size


def is_labelled_page(headers: Mapping[str, str]) -> bool:
    """Whether an answer says that it is a web page. Some servers say so of any file whose type they do not know."""
    return headers.get("Content-Type", "").strip().lower().startswith(("text/html", "application/xhtml"))


def check_no_page(url: str, headers: Mapping[str, str], data: Buffer, where: ByteRange | None = None) -> None:
    """Raise `FetchFailed` when an answer says that it is a web page, and the file begins like one.

    Portals give their page for any file, with an etag, a length and parts of it as for any other.

    Args:
        data: the first bytes of the file.
    """
    if is_labelled_page(headers) and _PAGE.match(bytes(memoryview(data)[:MOST_BEFORE])):
        raise FetchFailed(url, "the server answered with a web page", where, transient=True)


def wait_of(headers: Mapping[str, str]) -> float | None:
    """The seconds that ``Retry-After`` asks for: a number or a date (RFC 9110 10.2.3)."""
    text = headers.get("Retry-After", "").strip()
    if _number(text):
        return float(text)
    if not text:
        return None
    from email.utils import parsedate_to_datetime
    from time import time

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time())
    except (ValueError, TypeError):
        return None


def _stamp(headers: Mapping[str, str]) -> str | None:
    return headers.get("ETag") or headers.get("Last-Modified")


def _number(text: str) -> bool:
    """Digits 0 to 9 only, and no more of them than any file has."""
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS


def _encoded(headers: Mapping[str, str]) -> bool:
    return headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity")
