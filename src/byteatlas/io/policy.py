"""What may be opened: a map or a file that came from elsewhere is untrusted and must not make us read at will."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from byteatlas.errors import BadRequest, Forbidden
from byteatlas.io.local import local_path
from byteatlas.io.sources.open_file import OPEN_FILE
from byteatlas.io.urls import fault_of, is_private_to_machine, last_link, place, protocol_of, under
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
            if value is None and name == "deny":
                raise BadRequest("deny is a list of prefixes of URLs")
            if value is not None:
                prefixes = (
                    (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
                )
                if not all(isinstance(prefix, str) for prefix in prefixes):
                    raise BadRequest(f"{name} is a list of prefixes of URLs")
                object.__setattr__(self, name, prefixes)
        if not (self.local is None or isinstance(self.local, bool)):
            raise BadRequest("local is True, False, or None (by origin)")

    def check(self, url: str, *, foreign: bool = False) -> None:
        """Raise `Forbidden` when this URL may not be opened. A chain (``zip://a::s3://b``) is its last link, seen
        through archives and caches; any other link in front may lead elsewhere, so the whole chain must be allowed.

        Args:
            foreign: something from elsewhere names it, and it leads to this machine (see `foreign`).
        """
        if fault := fault_of(url):
            raise Forbidden(url, fault)
        allowed = self.allow is not None and any(_under_one(url, prefix) for prefix in self.allow)
        closed = self.local is False or (foreign and self.local is None)
        if closed and (foreign or reach_of(url) == FILES) and not allowed:
            raise Forbidden(url, "a map or file from the network may not read local files (allow=[...] permits it)")
        if any(under(link, prefix) for prefix in self.deny for link in (url, *url.split("::"))):
            raise Forbidden(url, "denied by the policy")
        if self.allow is not None and not allowed:
            raise Forbidden(url, f"outside of what the policy allows ({', '.join(self.allow) or 'nothing'})")

    def check_hop(self, url: str, following: str) -> None:
        """Raise `Forbidden` when the server that was asked for the first URL may not send us on to the second one."""
        if place(url) != place(following):
            self.check(following, foreign=foreign(url, following))


NETWORK_PROTOCOLS = frozenset({
    "http", "https", "s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "wasb", "wasbs", "oss", "oci", "ocilake",
    "tos", "ftp", "sftp", "ssh", "smb", "hdfs", "webhdfs", "webdav", "root", "hf", "github", "gist", "lakefs", "dbfs",
    "dropbox", "gdrive", "box", "wandb", "jlab", "jupyter",
})  # fmt: skip
"""fsspec protocols that lead beyond the network. All others lead, or can be made to lead, to files of this machine."""
PROCESS_PROTOCOLS = frozenset({"memory", OPEN_FILE})
"""Protocols that lead to memory of this process."""
LINKS = frozenset({"zip", "tar"})
"""Protocols that may stand before others in a chain; the rest (caches, for one) write or read local files."""
CACHES = frozenset({"simplecache", "filecache", "blockcache", "cached"})
"""Protocols of copies that are kept here; by themselves, without a path, they give what the next link gives."""
NETWORK, MACHINE, PROCESS, FILES = 0, 1, 2, 3
"""Where something lies: beyond the network, on a server that answers this machine only, in the memory of this process,
in files of this machine."""


def reach_of(url: str) -> int:
    """What a URL leads to, as it is or at the end of a chain."""
    links, outer = url.split("::")[:-1], last_link(url)
    if any(protocol_of(link) not in LINKS for link in links):
        return FILES
    return origin_of(outer)


def origin_of(url: str) -> int:
    """Where a map or file lies that the caller named: what the last link of its URL says."""
    outer = last_link(url)
    if local_path(outer) is not None:
        return FILES
    protocol = protocol_of(outer)
    if protocol in PROCESS_PROTOCOLS:
        return PROCESS
    if protocol not in NETWORK_PROTOCOLS:
        return FILES
    return MACHINE if is_private_to_machine(outer) else NETWORK


def foreign(origin: str | None, url: str) -> bool:
    """Whether a URL leads to this machine, and the map or file at ``origin`` that names it has no right to that.

    Files of this machine may name anything, what lies in this process's memory its memory, what a server answered that
    this machine alone can reach other such servers, and what came from the network none of these. None as origin: the
    caller made the map.

    >>> foreign("https://host/a.json", "file:///etc/passwd"), foreign("/data/a.json", "/data/x.nc")
    (True, False)
    >>> foreign("https://host/a.json", "http://localhost:8888/api"), foreign("http://127.0.0.1/a", "http://localhost/b")
    (True, False)
    """
    if origin is None or (right := _right(origin)) == FILES:
        return False
    if url.split("::")[:-1] == origin.split("::")[:-1]:  # the caller's own way to it: a cache in front of a server
        return origin_of(url) > right
    return reach_of(url) > right


def _right(origin: str) -> int:
    """How far a map or file may lead; one of an unknown protocol, wherever that leads, no farther than the network."""
    outer = last_link(origin)
    unknown = local_path(outer) is None and protocol_of(outer) not in NETWORK_PROTOCOLS | PROCESS_PROTOCOLS
    return NETWORK if unknown else origin_of(origin)


def _under_one(url: str, prefix: str) -> bool:
    """Whether a URL is below a prefix that is allowed: a chain by its last link, where the others show only that."""
    plain = all(link in CACHES or protocol_of(link) in LINKS for link in url.split("::")[:-1])
    return under(url, prefix) if plain or "::" in prefix else False
