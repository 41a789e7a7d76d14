"""The last step for a variable made of parts: which manifest goes where, and what the array's metadata then say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from byteatlas.combining.chunks.layout import GridLayout, MosaicTile, compacted, explicit_encodings
from byteatlas.combining.compare.classify import MetadataClass
from byteatlas.combining.context import CombineContext
from byteatlas.combining.model import Finding, InputNumber
from byteatlas.combining.variable.encodings import Merged
from byteatlas.combining.variable.treatment import Decision, Mosaic
from byteatlas.combining.wording import alternatives, grid_text
from byteatlas.manifest.columns import PlacedManifest
from byteatlas.manifest.model import VirtualArray, empty_manifest
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import MOST_ENCODINGS, ArrayMeta, ChunkKeys, RectilinearGrid, RegularGrid
from byteatlas.values import replace


def lay_down(
    path: str,
    classes: Sequence[MetadataClass],
    tiles: Sequence[MosaicTile],
    by_input: dict[InputNumber, VirtualArray],
    merged: Merged,
    layout: GridLayout,
    context: CombineContext,
    stacked: bool,
) -> Decision:
    """Metadata and parts."""
    encodings, maps = list(merged.encodings), list(merged.maps)
    findings: list[Finding] = []
    ours = any(c.name.startswith("byteatlas.") for e in encodings for c in e.codecs)
    uneven = isinstance(layout.grid, RectilinearGrid) and (len(encodings) > 1 or ours)
    if layout.explicit or uneven:
        # On an uneven grid, some codecs (scale-offset, N-bit, szip) decode chunks of one size only.
        wide, maps = explicit_encodings(merged, classes)
        encodings = list(wide)
    if layout.explicit:
        shapes = alternatives([grid_text(c.meta.grid) for c in classes])
        findings.append(Finding("reconciled", "chunks", path, (), f"chunks of different extent: {shapes}"))
    parts = []
    for m in tiles:
        origin = tuple(layout.starts[a][b] for a, b in enumerate(m.block))
        manifest = by_input[m.input].manifest.load()
        if not len(manifest.source):  # no chunks: its encodings are not used
            continue
        parts.append(PlacedManifest(origin, manifest, maps[m.cls], merged.constants[m.cls]))
    if merged.absent is not None:
        parts += absent_parts(tiles, layout, merged.absent)
    return finished(path, classes[0].meta, encodings, parts, merged, layout, findings, stacked)


def absent_parts(tiles: Sequence[MosaicTile], layout: GridLayout, encoding: int) -> list[PlacedManifest]:
    """Parts for the places that no tile fills."""
    filled = {m.block for m in tiles}
    blocks = product(*(range(len(s) - 1) for s in layout.starts))
    result = []
    for block in blocks:
        if block not in filled and all(s[b + 1] > s[b] for s, b in zip(layout.starts, block, strict=True)):
            origin = tuple(layout.starts[a][b] for a, b in enumerate(block))
            counts = tuple(layout.starts[a][b + 1] - layout.starts[a][b] for a, b in enumerate(block))
            result.append(PlacedManifest(origin, empty_manifest(counts), None, encoding))
    return result


def renumbered(parts: Sequence[PlacedManifest], numbers: Mapping[int, int]) -> list[PlacedManifest]:
    """The parts with other numbers of encodings."""
    return [
        replace(
            p,
            encodings=None if p.encodings is None else tuple(numbers[n] for n in p.encodings),
            constant=None if p.constant is None else numbers[p.constant],
        )
        for p in parts
    ]


def finished(
    path: str,
    first: ArrayMeta,
    encodings: Sequence[Any],
    parts: Sequence[PlacedManifest],
    merged: Merged,
    layout: GridLayout,
    findings: list[Finding],
    stacked: bool,
) -> Decision:
    """Number the encodings by use, and write plain Zarr where that says it all."""
    used: list[int] = []
    for p in parts:
        used += p.encodings or ()
        used += [] if p.constant is None else [p.constant]
    kept, renumber = compacted(encodings, used or [0])
    if len(kept) > MOST_ENCODINGS:
        detail = f"more than {MOST_ENCODINGS} different encodings"
        return None, [*findings, Finding("conflict", "codecs", path, (), detail)]
    same = all(renumber[n] == n for n in set(used))
    renamed = parts if same else renumbered(parts, renumber)
    grid = layout.grid
    if len(kept) == 1 and isinstance(grid, RegularGrid) and kept[0].chunk_shape == grid.chunk_shape:
        kept = (replace(kept[0], chunk_shape=None),)
    e = kept[0]
    plain = len(kept) == 1 and e.chunk_shape is None and e.data_type is None and not e.cast
    two = plain and isinstance(grid, RegularGrid)
    meta = replace(
        first,
        shape=layout.shape,
        grid=grid,
        data_type=merged.data_type,
        encodings=kept,
        fill_value=merged.fill_value,
        attributes=merged.attributes,
        zarr_format=first.zarr_format if two else 3,
        keys=first.keys if two else ChunkKeys("default", "/"),
    )
    counts = tuple(s[-1] for s in layout.starts)
    if counts != chunk_counts(meta.shape, grid):
        raise AssertionError(f"{path}: {counts} chunks laid out for {grid}")
    return Mosaic(meta, counts, tuple(renamed), "stacked" if stacked else "concatenated"), findings
