"""What a request asks for: path, range, conditions; and the headers of answers. Pure functions over text (RFC 9110)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from byteatlas.serving.faults import HTTPRefusal
from byteatlas.serving.limits import check_size
from byteatlas.serving.options import ServeOptions
from byteatlas.types import Buffer
from byteatlas.values import dataclass

METHODS = "GET, HEAD, OPTIONS"
EXPOSED = "ETag, Content-Range, Content-Length, Accept-Ranges, Retry-After"
_RANGE = re.compile(r"bytes=[ \t]*(\d{0,19})-(\d{0,19})[ \t]*")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request. ``parts``: the segments of its path below this application, decoded; ``slash``: it ends in one."""

    method: str
    parts: tuple[str, ...]
    slash: bool
    query: str
    headers: Mapping[str, str]
    client: str
    base: str

    @property
    def has_body(self) -> bool:
        return self.headers.get("content-length", "0").strip() != "0" or "transfer-encoding" in self.headers


def asked(scope: Mapping[str, Any]) -> Asked:
    """The request of an ASGI scope. Raises `HTTPRefusal` for one that is too large or has an impossible path."""
    path, root = str(scope["path"]), str(scope.get("root_path") or "")
    pairs = list(scope["headers"])
    check_size(path, pairs)
    query = scope.get("query_string") or b""
    assert isinstance(query, bytes)
    if len(query) > 4096:
        raise HTTPRefusal(414, "the query is longer than 4096 characters")
    if root and path.startswith(root):
        path = path[len(root) :]
    client = scope.get("client")
    return Asked(
        method=str(scope["method"]),
        parts=_segments(path),
        slash=path.endswith("/") or not path,
        query=query.decode("latin-1"),
        headers={k.decode("latin-1").lower(): v.decode("latin-1") for k, v in pairs},
        client=str(client[0]) if isinstance(client, (tuple, list)) and client else "",
        base=root.rstrip("/"),
    )


def _segments(path: str) -> tuple[str, ...]:
    """Raises `HTTPRefusal` for segments that would lead elsewhere where segments are names of files."""
    if not path.isprintable() or "\\" in path or "\ufffd" in path:
        raise HTTPRefusal(400, "the path has characters that no path here has")
    parts = path.split("/")[1:]
    if parts and not parts[-1]:
        parts.pop()
    if any(part in ("", ".", "..") for part in parts):
        raise HTTPRefusal(400, "the path has empty segments, or segments of dots")
    return tuple(parts)


def range_of(headers: Mapping[str, str], size: int, etag: str) -> tuple[int, int] | None:
    """The bytes ``[start, stop)`` that are asked for; None: all of them (RFC 9110 14.2).

    Several ranges at once, other units and what is no range are left out of account, as a server may. ``If-Range``
    with another ETag, or with a date, asks for all.

    Raises `HTTPRefusal` (416) for a range that begins behind the end.

    >>> range_of({"range": "bytes=-3"}, 10, ""), range_of({"range": "bytes=4-"}, 10, ""), range_of({}, 10, "")
    ((7, 10), (4, 10), None)
    """
    text = headers.get("range")
    if text is None or ("if-range" in headers and headers["if-range"].strip() != etag):
        return None
    found = _RANGE.fullmatch(text.strip())
    if found is None or found.groups() == ("", ""):
        return None
    first, last = found.groups()
    start = max(size - int(last), 0) if not first else int(first)
    stop = size if not first or not last else min(int(last) + 1, size)
    if first and last and int(last) < int(first):
        return None
    if start >= size or (not first and not int(last)):
        raise HTTPRefusal(416, f"there are only {size} bytes", {"content-range": f"bytes */{size}"})
    return start, stop


def unchanged(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the client has what is there already (RFC 9110 13.1.2)."""
    text = headers.get("if-none-match")
    return text is not None and (text.strip() == "*" or etag in _tags(text))


def differs(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the client wants something else than what is there (RFC 9110 13.1.1): weak tags never match."""
    text = headers.get("if-match")
    return text is not None and text.strip() != "*" and etag not in [t.strip() for t in text.split(",")]


def _tags(text: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in text.split(",")]


def etag_of(parts: Iterable[object]) -> str:
    """A strong ETag of facts that change when the bytes do.

    >>> etag_of(["a", 1]) == etag_of(["a", 1]), etag_of(["a", 1]) == etag_of(["a1"])
    (True, False)
    """
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return f'"{blake2b(text, digest_size=12).hexdigest()}"'


def etag_of_bytes(data: Buffer) -> str:
    """A strong ETag of the bytes themselves."""
    return f'"{blake2b(data, digest_size=12, person=b"content").hexdigest()}"'


def allowed_origin(origin: str | None, options: ServeOptions) -> str | None:
    """What ``Access-Control-Allow-Origin`` says to a page's origin; None: nothing.

    >>> allowed_origin("http://localhost:3000", ServeOptions()), allowed_origin("https://other.org", ServeOptions())
    ('http://localhost:3000', None)
    """
    if "*" in options.origins:
        return "*"
    if origin is None:
        return None
    without_port = re.sub(r":\d+$", "", origin)
    return origin if origin in options.origins or without_port in options.origins else None


def check_host(headers: Mapping[str, str], options: ServeOptions) -> None:
    """Raises `HTTPRefusal` (421) for a request to another name than this server's."""
    if options.hosts is None:
        return
    name = re.sub(r":\d+$", "", headers.get("host", "").strip().lower())
    if name not in options.hosts:
        raise HTTPRefusal(421, "this server is not asked under that name")
