"""External raw storage: datasets whose bytes are in other files, as references to those files.

The files are looked for beside the HDF5 file (H5D_build_file_prefix without its environment variables).
"""

from __future__ import annotations

import math

import numpy as np

from byteatlas.errors import CorruptFile, FileFault, Unsupported
from byteatlas.manifest.model import ChunkManifest, SourceInfo, empty_manifest, inline_manifest
from byteatlas.meta.model import RectilinearGrid
from byteatlas.scanning.contract import Elsewhere, Parse, Stat
from byteatlas.scanning.parsers import buffers, gather, settle
from byteatlas.scanning.reasons import Reason
from byteatlas.types import ByteRange
from byteatlas_scanners.hdf5.linked_files import LinkedFiles, candidates
from byteatlas_scanners.hdf5.storage import Placement, split
from byteatlas_scanners.hdf5.walk import Dataset, File

MOST_SEGMENTS = 1 << 16


def locate_external(files: LinkedFiles) -> Parse[None]:
    """Locate the bytes of all datasets with external storage, in every file of a scan."""
    found = [
        (file, node)
        for file in files.by_url.values()
        for node in file.objects.values()
        if isinstance(node, Dataset) and node.what.external and node.what.space.shape is not None
    ]
    if not found:
        return
    places = list(dict.fromkeys(_place_of(file, slot.name) for file, node in found for slot in node.what.external))
    infos = yield from settle(places)
    known = dict(zip(places, infos, strict=True))
    results = yield from gather([_place(file, node, known) for file, node in found])
    for (_, node), result in zip(found, results, strict=True):
        node.placement = result


def _place_of(file: File, name: str) -> Stat:
    return candidates(file, name)[0]


def _segments(
    file: File, node: Dataset, known: dict[Stat, SourceInfo | FileFault | None], need: int
) -> list[tuple[Stat, SourceInfo, int, int]]:
    """(name as asked, file, offset, length) of each part that is needed, in order."""
    out: list[tuple[Stat, SourceInfo, int, int]] = []
    left = need
    for slot in node.what.external:
        if not left:
            break
        place = _place_of(file, slot.name)
        info = known[place]
        if isinstance(info, FileFault):
            raise info
        if info is None:
            raise Unsupported(Reason.EXTERNAL_STORAGE, f"there is no file {slot.name!r}")
        length = left if slot.size is None else min(left, slot.size)
        if slot.offset + length > (info.size or 0):
            raise Unsupported(Reason.EXTERNAL_STORAGE, f"{slot.name!r} is too short: {length} bytes at {slot.offset}")
        if length:
            out.append((place, info, slot.offset, length))
        left -= length
    if left or len(out) > MOST_SEGMENTS:
        raise CorruptFile(file.form.base, f"external files hold {need - left} of {need} bytes")
    return out


def _place(file: File, node: Dataset, known: dict[Stat, SourceInfo | FileFault | None]) -> Parse[Placement]:
    what = node.what
    shape, size = what.shape, what.type.size
    need = math.prod(shape) * size
    whole = tuple([n or 1 for n in shape])
    if not need:
        return Placement(whole, (0,), empty_manifest(tuple([n and 1 for n in shape])))
    parts = _segments(file, node, known, need)
    if len(parts) == 1:
        chunk = split(shape, size, file.options.target_chunk)
        return _regular(shape, chunk, size, parts[0][1], parts[0][2])
    row = need // shape[0] if shape else need
    if all(length % row == 0 for _, _, _, length in parts):
        return _rows(shape, row, parts)
    if need > file.options.max_inline:
        raise Unsupported(Reason.EXTERNAL_STORAGE, "external files that end in the middle of a row")
    blocks = buffers((yield [Elsewhere(p.url, ByteRange(offset, length), p.by) for p, _, offset, length in parts]))
    data = b"".join(bytes(block) for block in blocks)
    return Placement(whole, (0,), inline_manifest((1,) * len(shape), {0: data}), inlined=True)


def _regular(shape: tuple[int, ...], chunk: tuple[int, ...], size: int, info: SourceInfo, at: int) -> Placement:
    grid = tuple([-(-n // c) for n, c in zip(shape, chunk, strict=True)])
    count, step = math.prod(grid), math.prod(chunk) * size
    offset = np.arange(count, dtype=np.uint64) * np.uint64(step) + np.uint64(at)
    manifest = ChunkManifest(grid, (info,), np.zeros(count, np.int32), offset, np.full(count, step, np.uint64))
    return Placement(chunk, (0,), manifest)


def _rows(shape: tuple[int, ...], row: int, parts: list[tuple[Stat, SourceInfo, int, int]]) -> Placement:
    """One chunk per file, each of whole rows."""
    sources = tuple(dict.fromkeys(info for _, info, _, _ in parts))
    edges = tuple([length // row for _, _, _, length in parts])
    grid = (len(parts),) + (1,) * (len(shape) - 1)
    manifest = ChunkManifest(
        grid,
        sources,
        np.array([sources.index(info) for _, info, _, _ in parts], np.int32),
        np.array([offset for _, _, offset, _ in parts], np.uint64),
        np.array([length for _, _, _, length in parts], np.uint64),
    )
    chunk = (edges[0], *shape[1:])
    rectilinear = None
    if len(set(edges)) > 1:
        rectilinear = RectilinearGrid((edges, *[(n,) for n in shape[1:]]))
    return Placement(chunk, (0,), manifest, grid=rectilinear)
