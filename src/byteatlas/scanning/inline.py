"""Copying small arrays into the map (`ScanOptions.inline_below`): one batch of reads for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from byteatlas.manifest.model import INLINE, ChunkManifest, ReportItem, VirtualArray, VirtualGroup
from byteatlas.scanning.contract import Ask, Elsewhere, Parse
from byteatlas.types import ByteRange


def inline_small(group: VirtualGroup, limit: int, url: str, size: int | None = None) -> Parse[VirtualGroup]:
    """The group with the chunks of all arrays of at most ``limit`` stored bytes copied into their manifests.

    ``url`` is the scanned file's own: ranges of other files are asked for by name. Arrays with chunks beyond ``size``
    are left as they are: reading those must fail, not the scan.
    """
    small: dict[int, ChunkManifest] = {}
    asks: list[Ask] = []
    for _, node in group.walk():
        if not isinstance(node, VirtualArray) or id(node.manifest) in small:
            continue
        manifest = node.manifest.load()
        stored = manifest.source >= 0
        if not stored.any() or int(manifest.length[stored].sum()) > limit:
            continue
        if size is None or bool((manifest.offset[stored] + manifest.length[stored] <= np.uint64(size)).all()):
            small[id(node.manifest)] = manifest
            asks += _asks(manifest, url)
    if not small:
        return group
    answers = iter((yield asks))
    done: dict[int, ChunkManifest] = {}
    for key, manifest in small.items():
        source, inlined = manifest.source.copy(), dict(manifest.inlined)
        for row in np.flatnonzero(manifest.source >= 0).tolist():
            inlined[row] = bytes(next(answers))
            source[row] = INLINE
        done[key] = replace(manifest, sources=(), source=source, inlined=inlined)
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
