"""A hash of everything that a scan gives."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from byteatlas.manifest.model import ChunkManifest, VirtualArray, VirtualGroup


def fingerprint(group: VirtualGroup) -> str:
    """The same for scans that found the same: metadata, places of all chunks, inline bytes, report."""
    digest = hashlib.sha256()
    for part in _parts(group):
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _parts(group: VirtualGroup) -> Iterator[bytes]:
    yield repr(group.meta).encode()
    yield repr(group.report).encode()
    for path, node in group.walk():
        yield path.encode()
        yield repr(node.meta).encode()
        if isinstance(node, VirtualArray):
            yield from _columns(node.manifest.load())


def _columns(manifest: ChunkManifest) -> Iterator[bytes]:
    yield repr((manifest.grid_shape, manifest.sources)).encode()
    for column in (manifest.source, manifest.offset, manifest.length, manifest.encoding):
        yield b"" if column is None else column.tobytes()
    for row, data in sorted(manifest.inlined.items()):
        yield row.to_bytes(8, "little") + data


def contents(group: VirtualGroup) -> int:
    """How much a scan found: datasets, groups and attributes."""
    return len(group.attributes) + sum(1 + len(node.meta.attributes) for _, node in group.walk())
