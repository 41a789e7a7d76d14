"""The grammar of URLs: what they are made of, one spelling of each for comparing, and whether one lies below another.

A URL may be a chain (``zip://member::https://host/a.zip``), fsspec's way to say what lies inside of what: its links are
read from the right, the last link is where the bytes come from. Host and query are split off before a path is
normalised (RFC 3986 3, 5.2.4): ``http://a/../b/x`` asks the host ``a``.
"""

from __future__ import annotations

import posixpath
from typing import NamedTuple

from byteatlas.io.local import absolute, is_absolute, local_path

WEB = frozenset({"http", "https"})
S3 = frozenset({"s3", "s3a"})
OBJECTS = frozenset({*S3, "gs", "gcs", "az", "abfs", "abfss", "adl"})
"""Protocols of object storage, which obstore knows as fsspec does (`byteatlas.io.sources.objects`)."""
_PORTS = {"http": "80", "https": "443"}
_CONTROL = frozenset(map(chr, (*range(32), 127)))
THIS_HOST = "localhost"


class Url(NamedTuple):
    """One link, in one spelling: ``host`` is a bucket's name in object storage, empty for a local path."""

    protocol: str
    host: str
    path: str
    query: str = ""

    def __str__(self) -> str:
        return f"{self.protocol}://{self.host}{self.path}{self.query}" if self.protocol else self.path


def last_link(url: str) -> str:
    """Where the bytes of a chain come from."""
    return url.rpartition("::")[2]


def protocol_of(link: str) -> str:
    """In lower case; empty for a local path."""
    return link.partition("://")[0].lower() if "://" in link else ""


def split(link: str) -> Url:
    """One link in its one spelling: dots in paths resolved; for web servers, whose names and paths are no keys,
    escapes, the case of the host, its port and the many names of this machine as well.

    >>> str(split("HTTP://me:secret@127.1:80/a/%2e%2e/b?c=1"))
    'http://localhost/b?c=1'
    >>> str(split("s3://bucket/a/../b")), str(split("/data//x/../y"))
    ('s3://bucket/b', '/data/y')
    """
    path = local_path(link)
    if path is not None:
        full = posixpath.normpath(absolute(path))
        return Url("", "", f"/{full.lstrip('/')}" if full.startswith("/") else full)
    protocol, _, rest = link.partition("://")
    protocol = protocol.lower()
    if protocol not in WEB:
        host, slash, path = rest.partition("/")
        return Url(protocol, host, _resolved(slash + path))
    from urllib.parse import unquote  # not for the paths of this machine, the most of all

    rest = rest.partition("#")[0]
    before, mark, query = rest.partition("?")
    authority, slash, path = before.partition("/")
    return Url(protocol, _server(protocol, unquote(authority)), _resolved("/" + unquote(path)), mark + query)


def _resolved(path: str) -> str:
    """Dots resolved, as clients and servers do; a slash at the end is no part of a name."""
    return "/" + posixpath.normpath(path).lstrip("/") if path.strip("/") else ""


def _server(protocol: str, authority: str) -> str:
    """Host and port of a web server, in one spelling, without user and password."""
    place = authority.rpartition("@")[2].lower()
    host, colon, port = place.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = place, ""
    host = _host(host)
    host = f"[{host}]" if ":" in host else host
    return f"{host}:{port}" if port and port != _PORTS[protocol] else host


def _host(host: str) -> str:
    import ipaddress
    import socket

    name = host.rstrip(".").strip("[]")
    if name == THIS_HOST or name.endswith("." + THIS_HOST):
        return THIS_HOST
    try:  # 127.1, 0x7f000001 and 2130706433 are addresses to every client
        address = ipaddress.ip_address(name if ":" in name else socket.inet_aton(name))
    except (ValueError, OSError):
        return name
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped or address
    return THIS_HOST if address.is_loopback or address.is_unspecified else str(address)


def is_private_to_machine(link: str) -> bool:
    """Whether a web server answers this machine only: itself, or (link-local) what its network tells it in private,
    such as a cloud's credentials."""
    if protocol_of(link) not in WEB:
        return False
    import ipaddress

    host = split(link).host
    name = host.partition("]")[0][1:] if host.startswith("[") else host.partition(":")[0]
    if name == THIS_HOST:
        return True
    try:
        return ipaddress.ip_address(name).is_link_local
    except ValueError:
        return False


def place(url: str) -> str:
    """The protocol and host (or bucket) of a URL, with what stands before it in a chain; empty for local files.

    >>> place("s3://bucket/a/b.nc"), place("simplecache::s3://bucket/a.nc"), place("/data/a.nc")
    ('s3://bucket/', 'simplecache::s3://bucket/', '')
    """
    links, mark, outer = url.rpartition("::")
    if local_path(outer) is not None:
        return ""
    protocol, _, rest = outer.partition("://")
    host = rest.partition("/")[0]
    if protocol.lower() in WEB:
        host = host.partition("?")[0].partition("#")[0].rpartition("@")[2]
    return f"{links}{mark}{protocol}://{host}/"


def under(url: str, prefix: str) -> bool:
    """Whether a URL is, or lies below, another one: at the boundaries of names, hosts and ports.

    Chains are compared by their last links; a prefix that is a chain holds for the same links before it only.

    >>> under("s3://bucket-evil/x", "s3://bucket"), under("http://h:8080/x", "http://h:80")
    (False, False)
    >>> under("http://H/a/b", "http://h/a"), under("zip://x::s3://b/a.zip", "s3://b")
    (True, True)
    """
    links, mark, outer = url.rpartition("::")
    above, chained, wanted = prefix.rpartition("::")
    if chained and (links, mark) != (above, chained):
        return False
    inner, whole = split(outer), split(wanted)
    if inner.protocol != whole.protocol or (inner.host != whole.host and (whole.host or whole.path)):
        return False
    if whole.query:
        return (inner.path, inner.query) == (whole.path, whole.query)
    top = whole.path.rstrip("/")
    return inner.path == top or inner.path.startswith(f"{top}/") or not top


def fault_of(url: str) -> str | None:
    """Why a URL means different things to different readers; None: it does not.

    Control characters are dropped by some and not by others, and a backslash ends the host for some.

    >>> fault_of("http://ok/a\\tb"), fault_of("http://ok/a b")
    ('has control characters in it', None)
    """
    for link in url.split("::"):
        if "://" in link and not _CONTROL.isdisjoint(link):
            return "has control characters in it"
        if protocol_of(link) in WEB and "\\" in link.partition("://")[2].partition("/")[0]:
            return "has a backslash in the name of the host"
        if protocol_of(link) in WEB and _is_torn(link):
            return "has brackets in it that are no address (:: separates the links of a chain)"
    return "has a NUL character in it" if "\0" in url else None


def _is_torn(link: str) -> bool:
    authority = link.partition("://")[2].partition("/")[0]
    return ("[" in authority) != ("]" in authority)


def join(base: str, url: str) -> str:
    """A URL as written in a file: absolute as it is, relative ones from the folder of ``base``.

    >>> join("s3://bucket/maps/a.json", "../data/x.nc"), join("maps/a.json", "/abs/x.nc")
    ('s3://bucket/data/x.nc', '/abs/x.nc')
    """
    if "://" in url or "::" in url or (is_absolute(url) and not url.startswith("/")):
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
