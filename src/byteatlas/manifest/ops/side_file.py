"""Side files: bytes that maps lead to because they are too large to be in them.

A side file says in its first line what it belongs to, so that it can be replaced when that is made anew. Any other file
is kept: it may be an archive, or what another map leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from byteatlas.errors import Conflict
from byteatlas.io.access import DEFAULT, Access
from byteatlas.io.output import Sink, new_file
from byteatlas.manifest.model import VirtualNode
from byteatlas.manifest.targets import check_not_source, object_there
from byteatlas.types import ByteRange

FIRST = b"byteatlas side file of "


@contextmanager
def side_file(url: str, owner: str, node: VirtualNode, access: Access = DEFAULT) -> Iterator[tuple[Sink, int]]:
    """A side file to be filled, and how many bytes are in it already: its first line.

    Args:
        owner: the archive or map that it belongs to.
        node: what leads to the bytes until now.

    Raises:
        Conflict: something else is there.
        BadRequest: the tree leads to it.
    """
    line = FIRST + owner.replace("\n", " ").encode(errors="surrogateescape") + b"\n"
    check_not_source(node, url)
    there = object_there(url, access)
    if there is not None and there.size():
        head = bytes(there.read([ByteRange(0, min(there.size(), len(line)))])[0])
        if head != line:
            raise Conflict([f"{url} is there and is no side file of {owner}: it is not replaced"], "write")
    with new_file(url, access.storage_options) as sink:
        sink.write(line)
        yield sink, len(line)
