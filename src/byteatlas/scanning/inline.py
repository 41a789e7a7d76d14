"""Copying small arrays into the map (`ScanOptions.inline_below`): one batch of reads for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice

import numpy as np

from byteatlas.errors import FileFault
from byteatlas.io.sources.parts import CONSTANT
from byteatlas.manifest.kinds.joined import JoinedInfo
from byteatlas.manifest.model import INLINE, ChunkManifest, ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Ask, Elsewhere, Parse
from byteatlas.scanning.parsers import settle
from byteatlas.types import Buffer, ByteRange
from byteatlas.values import replace


def inline_small(group: VirtualGroup, limit: int, source: SourceInfo) -> Parse[VirtualGroup]:
    """The group with the chunks of all arrays of at most ``limit`` stored bytes copied into their manifests.

    ``source`` is the scanned file: ranges of other files are asked for by name. Arrays with chunks that are not there
    stay as they are: reading those must fail, not the scan.
    """
    small: dict[int, ChunkManifest] = {}
    asks: list[Ask | bytes] = []
    counts: list[int] = []
    for _, node in group.walk():
        if not isinstance(node, VirtualArray) or id(node.manifest) in small:
            continue
        manifest = node.manifest.load()
        stored = manifest.source >= 0
        if stored.any() and int(manifest.length[stored].sum()) <= limit:
            small[id(node.manifest)] = manifest
            for row in np.flatnonzero(stored).tolist():
                mine = _asks(manifest, row, source.url)
                asks += mine
                counts.append(len(mine))
    if not small:
        return group
    answers = iter((yield from settle([ask for ask in asks if not isinstance(ask, bytes)])))
    parts = iter([ask if isinstance(ask, bytes) else next(answers) for ask in asks])
    chunks = iter([_joined(list(islice(parts, count))) for count in counts])
    done: dict[int, ChunkManifest] = {}
    for key, manifest in small.items():
        rows = np.flatnonzero(manifest.source >= 0).tolist()
        found = {row: next(chunks) for row in rows}
        there = {row: data for row, data in found.items() if data is not None}
        if len(there) < len(found):
            continue
        column = manifest.source.copy()
        column[rows] = INLINE
        done[key] = replace(manifest, sources=(), source=column, inlined={**manifest.inlined, **there})
    return _replaced(group, done, "", {item.path: item for item in group.report})


def _asks(manifest: ChunkManifest, row: int, url: str) -> list[Ask | bytes]:
    """What the bytes of a chunk are made of: mostly one range; several of a chunk that is joined from parts."""
    where = ByteRange(int(manifest.offset[row]), int(manifest.length[row]))
    info = manifest.sources[int(manifest.source[row])]
    if not isinstance(info, JoinedInfo) or info.columns is None:
        return [_range(info.url, where, url)]
    constant = info.columns.constant
    return [
        constant[part.offset : part.end] if number == CONSTANT else _range(info.files[number].url, part, url)
        for number, part in info.columns.within(where)
    ]


def _range(file: str, where: ByteRange, url: str) -> Ask:
    return where if file == url else Elsewhere(file, where)


def _joined(parts: list[Buffer | FileFault]) -> bytes | None:
    """The bytes of a chunk; None when a part of it is not there."""
    sound = [part for part in parts if not isinstance(part, FileFault)]
    return b"".join(sound) if len(sound) == len(parts) else None


def _replaced(
    group: VirtualGroup, done: Mapping[int, ChunkManifest], path: str, report: dict[str, ReportItem]
) -> VirtualGroup:
    arrays = {}
    for name, array in group.arrays.items():
        manifest = done.get(id(array.manifest))
        arrays[name] = array if manifest is None else VirtualArray(array.meta, manifest)
        if manifest is not None and path + name in report:
            report[path + name] = replace(report[path + name], status="inlined")
    groups = {name: _replaced(g, done, f"{path}{name}/", report) for name, g in group.groups.items()}
    return VirtualGroup(group.meta, arrays, groups, tuple(report.values()) if group.report else ())
