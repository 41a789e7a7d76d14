"""Remove a node with all below it: documents and chunks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from byteatlas.errors import BadRequest, Unsupported
from byteatlas.store.base import WritableStore
from byteatlas.store.remote import RemoteStore

MOST_DEPTH = 256


def erase(store: WritableStore, path: str) -> None:
    """Remove every key below a path (no slashes at its ends; empty: the whole store). Raises `Unsupported`.

    Documents of the node itself go first: one that is half removed is no node any more.
    """
    own = [f"{path}/{name}" if path else name for name in ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")]
    keys = list(_keys(store, path))
    for key in own:
        store.delete(key)
    for key in keys:
        if key not in own:
            store.delete(key)


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
