"""What may be opened: a map or a file that came from elsewhere is untrusted and must not make us read at will."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence

from byteatlas.errors import BadRequest, Forbidden
from byteatlas.io.local import local_path
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Which URLs maps and files may lead to.

    Attributes:
        allow: prefixes that may be opened; None = any (subject to the rest). A list works, and one prefix by itself.
        deny: prefixes that may not, whatever ``allow`` says.
        local: whether files of this machine may be opened: always, never (but for what ``allow`` names), or (None) by
            origin: what lies here may name it, what came from the network may not.

    >>> Policy(allow=["s3://open/"]).allow, Policy(deny="/data/secret").deny
    (('s3://open/',), ('/data/secret',))
    """

    allow: Sequence[str] | None = None
    deny: Sequence[str] = ()
    local: bool | None = None

    def __post_init__(self) -> None:
        for name in ("allow", "deny"):
            value = getattr(self, name)
            if value is not None:
                if not isinstance(value, Iterable) or not all(isinstance(prefix, str) for prefix in value):
                    raise BadRequest(f"{name} is a list of prefixes of URLs")
                object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if not (self.local is None or isinstance(self.local, bool)):
            raise BadRequest("local is True, False, or None (by origin)")

    def check(self, url: str, *, foreign: bool = False) -> None:
        """Raise `Forbidden` when this URL may not be opened. A chain (``zip://a::s3://b``) is its last link, seen
        through archives and caches; any other link in front may lead elsewhere, so the whole chain must be allowed.

        Args:
            foreign: something from elsewhere names it, and it leads to this machine (see `foreign`).
        """
        outer = url.rpartition("::")[2]
        allowed = any(_under(name, self.allow or ()) for name in _named(url, outer))
        closed = self.local is False or (foreign and self.local is None)
        if closed and (foreign or _reads_here(url, outer)) and not allowed:
            raise Forbidden(url, "a map or file from the network may not read local files (allow=[...] permits it)")
        if any(_under(normal(name), self.deny) for name in (url, *url.split("::"))):
            raise Forbidden(url, "denied by the policy")
        if self.allow is not None and not allowed:
            raise Forbidden(url, f"outside of what the policy allows ({', '.join(self.allow) or 'nothing'})")


LOCAL_PROTOCOLS = frozenset({
    "file", "local", "asynclocal", "async_wrapper", "asyncwrapper", "dir", "git", "dvc", "libarchive", "reference",
    "dask", "generic",
})  # fmt: skip
"""fsspec protocols that lead, or can be made to lead, to files of this machine."""
PROCESS_PROTOCOLS = frozenset({"memory", OPEN_FILE})
"""Protocols that lead to memory of this process."""
LINKS = frozenset({"zip", "tar"})
"""Protocols that may stand before others in a chain; the rest (caches, for one) write or read local files."""
CACHES = frozenset({"simplecache", "filecache", "blockcache", "cached"})
"""Protocols of copies that are kept here; by themselves, without a path, they give what the next link gives."""
NETWORK, PROCESS, FILES = 0, 1, 2
"""Where something lies: beyond the network, in the memory of this process, in files of this machine."""


def origin_of(url: str) -> int:
    """Where a map or file lies that the caller named: what the last link of its URL says."""
    outer = url.rpartition("::")[2]
    if local_path(outer) is not None:
        return FILES
    return PROCESS if outer.partition("://")[0].lower() in PROCESS_PROTOCOLS else NETWORK


def foreign(origin: str | None, url: str) -> bool:
    """Whether a URL leads to this machine, and the map or file at ``origin`` that names it has no right to that.

    Files of this machine may name anything, what lies in this process's memory its memory, what came from the network
    neither. None as origin: the caller made the map.

    >>> foreign("https://host/a.json", "file:///etc/passwd"), foreign("/data/a.json", "/data/x.nc")
    (True, False)
    """
    if origin is None or (right := origin_of(origin)) == FILES:
        return False
    links, outer = url.split("::")[:-1], url.rpartition("::")[2]
    if links == origin.split("::")[:-1]:  # the caller's own way to it: a cache in front of a server
        return _where(outer, outer) > right
    return _where(url, outer) > right


def _where(url: str, outer: str) -> int:
    if _reads_here(url, outer):
        return FILES
    return PROCESS if outer.partition("://")[0].lower() in PROCESS_PROTOCOLS else NETWORK


def _reads_here(url: str, outer: str) -> bool:
    """Whether a URL leads to a local file, as it is or at the end of a chain."""
    if local_path(outer) is not None or outer.partition("://")[0].lower() in LOCAL_PROTOCOLS:
        return True
    return any(link.partition("://")[0].lower() not in LINKS for link in url.split("::")[:-1])


def _named(url: str, outer: str) -> tuple[str, ...]:
    """What a list of allowed prefixes is compared with: the whole URL; the last link where the others show only it."""
    plain = all(link in CACHES or link.partition("://")[0] in LINKS for link in url.split("::")[:-1])
    return (normal(url), normal(outer)) if plain else (normal(url),)


def normal(url: str) -> str:
    """A URL with ``..`` and ``.`` resolved, so that prefixes can be compared.

    >>> normal("/data/../etc/passwd"), normal("s3://bucket/a/../b")
    ('/etc/passwd', 's3://bucket/b')
    """
    path = local_path(url)
    if path is not None:
        return posixpath.normpath(path)
    protocol, mark, rest = url.partition("://")
    if protocol in ("http", "https"):  # clients resolve escaped dots as well
        rest = re.sub("%2e", ".", rest, flags=re.IGNORECASE)
    return protocol + mark + posixpath.normpath(rest) if rest else url


def _under(url: str, prefixes: Sequence[str]) -> bool:
    for prefix in prefixes:
        clean = normal(prefix)
        if url == clean or url.startswith(clean if clean.endswith("/") else clean + "/"):
            return True
    return False


def join(base: str, url: str) -> str:
    """A URL as written in a file: absolute as it is, relative ones from the folder of ``base``.

    >>> join("s3://bucket/maps/a.json", "../data/x.nc"), join("maps/a.json", "/abs/x.nc")
    ('s3://bucket/data/x.nc', '/abs/x.nc')
    """
    if "://" in url or "::" in url:
        return url
    if url.startswith("/"):
        protocol, mark, rest = base.partition("://")
        if not mark or protocol in ("file", "local"):
            return url
        return f"{protocol}://{rest.partition('/')[0]}{posixpath.normpath(url)}"
    folder = base.rpartition("/")[0]
    if not folder:
        return posixpath.normpath(url) if not base.startswith("/") else "/" + posixpath.normpath(url)
    protocol, mark, rest = folder.partition("://")
    if not mark:
        return posixpath.normpath(f"{folder}/{url}")
    host, _, path = rest.partition("/")
    return f"{protocol}://{host}{posixpath.normpath('/' + '/'.join(filter(None, (path, url))))}"
