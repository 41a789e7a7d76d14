"""What may be opened: a map or a file that came from elsewhere is untrusted and must not make us read at will."""

from __future__ import annotations

import posixpath
import re

from byteatlas.errors import Forbidden
from byteatlas.io.local import local_path
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class Policy:
    """Which URLs may be opened.

    Attributes:
        allow: prefixes that may be opened; None = any (subject to the rest).
        deny: prefixes that may not, whatever ``allow`` says.
        local: whether local files may be opened at all.
    """

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    local: bool = True

    def check(self, url: str) -> None:
        """Raise `Forbidden` when this URL, or the last link of a chain (``zip://a::s3://b``), may not be opened."""
        outer = url.rpartition("::")[2]
        names = (normal(url), normal(outer))
        if not self.local and _reads_here(url, outer) and not _under(names[1], self.allow or ()):
            raise Forbidden(url, "a map or file from the network may not read local files (allow=[...] permits it)")
        if any(_under(name, self.deny) for name in names):
            raise Forbidden(url, "denied by the policy")
        if self.allow is not None and not any(_under(name, self.allow) for name in names):
            raise Forbidden(url, f"outside of what the policy allows ({', '.join(self.allow) or 'nothing'})")


LOCAL_PROTOCOLS = frozenset({"file", "local", "asynclocal", "dir", "git", "libarchive", "reference", "dask", "generic"})
"""fsspec protocols that lead, or can be made to lead, to files of this machine."""
LINKS = frozenset({"zip", "tar"})
"""Protocols that may stand before others in a chain; the rest (caches, for one) write or read local files."""


def _reads_here(url: str, outer: str) -> bool:
    """Whether a URL leads to a local file, as it is or at the end of a chain."""
    if local_path(outer) is not None or outer.partition("://")[0].lower() in LOCAL_PROTOCOLS:
        return True
    return any(link.partition("://")[0].lower() not in LINKS for link in url.split("::")[:-1])


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


def _under(url: str, prefixes: tuple[str, ...]) -> bool:
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
