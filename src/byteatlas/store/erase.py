"""Remove a node with all below it: documents and chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from byteatlas.errors import BadRequest, Conflict, Unsupported
from byteatlas.store.base import WritableStore
from byteatlas.store.remote import RemoteStore

MOST_DEPTH = 256
DOCUMENTS = frozenset({"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata", "meta", "attrs"})
OWN = ".byteatlas-"
"""How names of our own begin."""


def erase(store: WritableStore, path: str) -> None:
    """Remove every key below a path (no slashes at its ends; empty: the whole store). Raises `Unsupported`.

    Documents of the node itself go first: one that is half removed is no node any more.
    """
    keys = list(_keys(store, path))
    foreign = [key for key in keys if not _could_be_ours(key.rpartition("/")[2])]
    if foreign:
        raise Conflict(
            [f"{store.url} holds {foreign[0]}, which is no part of a Zarr store: nothing was removed"], "write"
        )
    own = [f"{path}/{name}" if path else name for name in ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")]
    for key in own:
        store.delete(key)
    for key in keys:
        if key not in own:
            store.delete(key)


def _could_be_ours(name: str) -> bool:
    """Whether a key can be part of a Zarr hierarchy by its last part: a document, a chunk, or a record of ours.

    >>> [_could_be_ours(name) for name in ("zarr.json", "0.12", "c.0", "c", "3", "air.nc", "README")]
    [True, True, True, True, True, False, False]
    """
    if name in DOCUMENTS or name.startswith(OWN):
        return True
    rest = name.removeprefix("c")
    return all(part.isdecimal() for part in rest.removeprefix(".").split(".")) if rest else True


def _keys(store: WritableStore, path: str) -> Iterator[str]:
    if isinstance(store, RemoteStore):
        yield from store.keys_below(path)
        return
    yield from _walk(store, path, 0)


def _walk(store: WritableStore, path: str, depth: int) -> Iterator[str]:
    names = store.names(path)
    if names is None or depth > MOST_DEPTH:
        raise Unsupported("listing", f"{store.url} cannot be listed: what is there cannot be removed", path)
    for name in names:
        below = f"{path}/{name}" if path else name
        with suppress(BadRequest):  # a name that no key can have
            found = list(_walk(store, below, depth + 1))
            yield from found or [below]
