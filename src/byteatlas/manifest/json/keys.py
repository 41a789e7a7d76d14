"""Chunk keys of JSON maps: which entries have keys of an array, and the place in the grid that a key names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import InvalidMetadata
from byteatlas.manifest.json.text.tokens import Entries
from byteatlas.meta.model import ArrayMeta, ChunkKeys
from byteatlas.types import Shape

if TYPE_CHECKING:
    pass

_CHUNK_LIKE = re.compile(r"(c[./])?\d+([./]\d+)*\Z")


def position(tail: str, counts: Shape, keys: ChunkKeys) -> int | None:
    """The flat index of a chunk from the end of its key; None when it is none of the grid's."""
    if not tail.endswith(keys.suffix):
        return None
    parts = tail.removesuffix(keys.suffix).split(keys.separator)
    if len(parts) != len(counts):
        return None
    flat = 0
    for part, n in zip(parts, counts, strict=True):
        if not (part.isascii() and part.isdigit()) or len(part) > 18 or (part[0] == "0" and len(part) > 1):
            return None
        if int(part) >= n:
            return None
        flat = flat * n + int(part)
    return flat


def check_stray(tail: str, meta: ArrayMeta, prefix: str, where: str) -> None:
    """Complain of a key that looks like a chunk in another key encoding than the array's own.

    Such a chunk would silently read as fill. Chunks outside of the grid are legal: a shrunk array leaves them behind.
    """
    if not _CHUNK_LIKE.match(tail):
        return
    parts = tail.removesuffix(meta.keys.suffix).split(meta.keys.separator)
    if len(parts) == meta.ndim and all(p.isdigit() and (p == "0" or p[0] != "0") for p in parts):
        return
    raise InvalidMetadata(where, f"key {prefix + tail!r} does not fit the array's chunk key encoding {meta.keys}")


def raw_prefix(raw: bytes, key: str, prefix: str) -> bytes:
    """The still escaped form of a key's prefix."""
    tail = key[len(prefix) :].encode()
    for spelled in (tail, tail.replace(b"/", b"\\/")):
        if raw.endswith(spelled):
            return raw[: len(raw) - len(spelled)]
    return raw


def keys_begin_with(entries: Entries, which: NDArray[np.int64], mark: bytes) -> NDArray[np.bool_]:
    """Which of these entries' keys begin with ``mark``."""
    keys = entries.key[which]
    place = np.minimum(keys[:, None] + np.arange(len(mark)), len(entries.view) - 1)
    same: NDArray[np.bool_] = (entries.view[place] == np.frombuffer(mark, np.uint8)).all(axis=1)
    return same & (entries.key_end[which] - keys >= len(mark))


def run_with_prefix(entries: Entries, at: int, mark: bytes) -> int:
    """The end of the run of entries from ``at`` on whose keys begin with ``mark``."""
    if not mark:
        return len(entries)
    wanted = np.frombuffer(mark, np.uint8)
    columns = np.arange(len(mark))
    limit = len(entries.view) - 1
    stop, step = at + 1, 16
    while stop < len(entries):
        keys = entries.key[stop : stop + step]
        place = np.minimum(keys[:, None] + columns, limit)
        same = (entries.view[place] == wanted).all(axis=1)
        same &= entries.key_end[stop : stop + step] - keys >= len(mark)
        if not same.all():
            return stop + int(np.argmin(same))
        stop += len(keys)
        step = min(step * 4, 1 << 14)
    return stop
