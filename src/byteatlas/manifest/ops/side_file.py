"""Side files: bytes that maps lead to because they are too large to be in them.

A side file that is there belongs to the map that leads to it, and is replaced with that map only. Any other file is
kept: it may be an archive, or what another map leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256

from byteatlas.errors import BadRequest, ByteatlasError, Conflict
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.local import absolute
from byteatlas.io.output import Sink, new_file
from byteatlas.io.source import Source
from byteatlas.manifest.facts import sources_of
from byteatlas.manifest.model import VirtualNode
from byteatlas.manifest.references import read_references
from byteatlas.manifest.targets import leads_to, object_there
from byteatlas.types import Buffer, ByteRange

BLOCK = 1 << 20


class _Hashing:
    """A sink that knows what went through it."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self.digest = sink, sha256()

    def write(self, data: Buffer) -> None:
        self._sink.write(data)
        self.digest.update(data)


@contextmanager
def side_file(url: str, node: VirtualNode, access: Access = DEFAULT, owner: str | None = None) -> Iterator[Sink]:
    """A side file to be filled.

    Args:
        node: what leads to the bytes until now.
        owner: the map that it belongs to; None = the one whose name with one suffix more is the side file's.

    Raises:
        Conflict: something else is there, with other bytes than those that were written.
        BadRequest: the tree leads to it, or it is the map itself.
    """
    if owner is not None and absolute(url) == absolute(owner):
        raise BadRequest(f"{url} is the map itself: its side file is another file")
    if leads_to(sources_of(node), url):
        raise BadRequest(f"the map leads to {url} already: choose another side file")
    there = object_there(url, access)
    free = there is None or not there.size() or _belongs(url, owner or url.rpartition(".")[0], access)
    with new_file(url, access.storage_options) as sink:
        hashing = _Hashing(sink)
        yield hashing
        if not free and there is not None and hashing.digest.digest() != _digest(there):
            raise Conflict([f"{url} is there and is no side file of the map: it is not replaced"], "write")


def _belongs(url: str, owner: str, access: Access) -> bool:
    try:
        return leads_to(sources_of(read_references(owner, access=access)), url)
    except ByteatlasError:  # no map, or one that nobody can read
        return False


def _digest(source: Source) -> bytes:
    digest = sha256()
    for begin in range(0, source.size(), BLOCK):
        digest.update(source.read([ByteRange(begin, min(BLOCK, source.size() - begin))])[0])
    return digest.digest()
