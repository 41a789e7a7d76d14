"""What a copy was made from, so that an unfinished one is not taken up with something else."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.array import Array
from byteatlas.array.reading.locating.manifest import ManifestLocator
from byteatlas.array.reading.locating.stored import StoreLocator
from byteatlas.manifest.model import INLINE, Manifest, SourceInfo
from byteatlas.manifest.ops.common import blocks
from byteatlas.types import JSON


def source_identity(array: Array) -> str:
    """A text that says where an array's bytes lie: the references of a virtual one, the place of a stored one.

    Two arrays that only look alike (shape, type, codecs) differ in it, and so does a file that has changed since it
    was indexed, where the map knows its size and stamp.
    """
    match array.locator:
        case ManifestLocator(manifest=manifest):
            return _references(manifest)
        case StoreLocator(sources=sources):
            return f"{sources.store.url}/{sources.path}"
        case other:
            return type(other).__name__


def _references(manifest: Manifest) -> str:
    digest = hashlib.sha256(json.dumps(manifest.grid_shape).encode())
    for chunks, rows in blocks(manifest):
        numbers, place = np.unique(rows.source, return_inverse=True)
        sources = manifest.sources
        named = [_named(sources[n]) if n >= 0 else n for n in numbers.tolist()]
        digest.update(json.dumps(named).encode())
        for column in (place, rows.offset, rows.length):
            digest.update(np.ascontiguousarray(column).tobytes())
        for chunk in chunks[rows.source == INLINE].tolist():
            digest.update(manifest.inline(chunk))
    return digest.hexdigest()


def _named(source: SourceInfo) -> list[JSON]:
    return [source.url, source.size, source.stamp]


def same_values(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two blocks are the same, bit for bit (NaN included)."""
    if one.dtype.hasobject:
        return bool(one.tolist() == other.tolist())
    return one.tobytes() == other.tobytes()
