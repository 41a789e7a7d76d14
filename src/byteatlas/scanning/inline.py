"""Copying small arrays into the map (`ScanOptions.inline_below`): one batch of reads for all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from byteatlas.errors import FileFault
from byteatlas.manifest.model import INLINE, ChunkManifest, ReportItem, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Ask, Elsewhere, Parse
from byteatlas.scanning.parsers import settle
from byteatlas.types import ByteRange
from byteatlas.values import replace


def inline_small(group: VirtualGroup, limit: int, source: SourceInfo) -> Parse[VirtualGroup]:
    """The group with the chunks of all arrays of at most ``limit`` stored bytes copied into their manifests.

    ``source`` is the scanned file: ranges of other files are asked for by name. Arrays with chunks that are not there
    stay as they are: reading those must fail, not the scan.
    """
    small: dict[int, ChunkManifest] = {}
    asks: list[Ask] = []
    for _, node in group.walk():
        if not isinstance(node, VirtualArray) or id(node.manifest) in small:
            continue
        manifest = node.manifest.load()
        stored = manifest.source >= 0
        if stored.any() and int(manifest.length[stored].sum()) <= limit:
            small[id(node.manifest)] = manifest
            asks += _asks(manifest, source.url)
    if not small:
        return group
    answers = iter((yield from settle(asks)))
    done: dict[int, ChunkManifest] = {}
    for key, manifest in small.items():
        rows = np.flatnonzero(manifest.source >= 0).tolist()
        found = {row: next(answers) for row in rows}
        if any(isinstance(data, FileFault) for data in found.values()):
            continue
        column = manifest.source.copy()
        column[rows] = INLINE
        inlined = {**manifest.inlined, **{row: bytes(data) for row, data in found.items()}}
        done[key] = replace(manifest, sources=(), source=column, inlined=inlined)
    return _replaced(group, done, "", {item.path: item for item in group.report})


def _asks(manifest: ChunkManifest, url: str) -> list[Ask]:
    found: list[Ask] = []
    for row in np.flatnonzero(manifest.source >= 0).tolist():
        where = ByteRange(int(manifest.offset[row]), int(manifest.length[row]))
        source = manifest.sources[int(manifest.source[row])].url
        found.append(where if source == url else Elsewhere(source, where))
    return found


def _replaced(
    group: VirtualGroup, done: Mapping[int, ChunkManifest], path: str, report: dict[str, ReportItem]
) -> VirtualGroup:
    arrays = {}
    for name, array in group.arrays.items():
        manifest = done.get(id(array.manifest))
        arrays[name] = array if manifest is None else VirtualArray(array.meta, manifest)
        if manifest is not None:
            report[path + name] = replace(report[path + name], status="inlined")
    groups = {name: _replaced(g, done, f"{path}{name}/", report) for name, g in group.groups.items()}
    return VirtualGroup(group.meta, arrays, groups, tuple(report.values()) if group.report else ())
