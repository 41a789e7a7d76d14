"""Arrays that are shorter than their dimension: made as long as it is, by chunks that are missing.

Along an unlimited dimension netCDF-4 stores each variable as far as it was written. To the netCDF library all are as
long as the dimension (NetCDF users' guide, "Unlimited dimensions"), and read as their fill value beyond.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from byteatlas.combining.chunks.common_borders import full_edges, with_explicit_shapes
from byteatlas.combining.chunks.layout import edges_of
from byteatlas.combining.context import CombineContext, Dimension
from byteatlas.combining.model import Finding, InputNumber
from byteatlas.manifest.columns import PlacedManifest, assemble
from byteatlas.manifest.model import VirtualArray
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ArrayMeta, RectilinearGrid, RegularGrid
from byteatlas.values import replace


def as_long_as_dimensions(
    path: str,
    have: Sequence[InputNumber],
    arrays: Sequence[VirtualArray],
    axes: Mapping[int, Dimension],
    context: CombineContext,
) -> tuple[Sequence[VirtualArray], list[Finding]]:
    """The arrays, those that are shorter than a concatenated dimension made as long; and what was found."""
    findings: list[Finding] = []
    for axis, dim in axes.items():
        if not of_its_group(path, dim):
            continue
        lengths = [dim.lengths[dim.arranged.block_of[i]] for i in have]
        short = [k for k, (a, n) in enumerate(zip(arrays, lengths, strict=True)) if is_short(a.meta, axis, n)]
        if short:
            chosen = set(short)
            arrays = [padded(a, axis, lengths[k]) if k in chosen else a for k, a in enumerate(arrays)]
            detail = f"written in part along {dim.name!r}: the rest reads as the fill value"
            findings.append(Finding("reconciled", "length", path, tuple(context.names[have[k]] for k in short), detail))
    return arrays, findings


def of_its_group(path: str, dim: Dimension) -> bool:
    """Whether a variable is beside the coordinate of a dimension: below, a dimension may be another of that name."""
    coordinate = dim.coordinate.path or dim.name
    return path.rpartition("/")[0] == coordinate.rpartition("/")[0]


def is_short(meta: ArrayMeta, axis: int, length: int) -> bool:
    return axis < meta.ndim and meta.shape[axis] < length


def padded(array: VirtualArray, axis: int, length: int) -> VirtualArray:
    """The array made longer along an axis; what is new is missing, whatever the last chunk has beyond the end."""
    meta = array.meta
    shape = tuple(length if i == axis else n for i, n in enumerate(meta.shape))
    edges = edges_of(meta.grid, meta.shape[axis], axis)
    if isinstance(meta.grid, RegularGrid) and not edges.partial:
        longer = replace(meta, shape=shape)
    else:
        explicit = with_explicit_shapes(array)
        rest = (length - meta.shape[axis],)
        sides = [(*edges.logical, *rest) if i == axis else full_edges(meta, i) for i in range(meta.ndim)]
        longer = replace(explicit.meta, shape=shape, grid=RectilinearGrid(tuple(sides)))
        array = explicit
    manifest = array.manifest.load()
    parts = [PlacedManifest((0,) * meta.ndim, manifest)] if len(manifest.source) else []
    return VirtualArray(longer, assemble(chunk_counts(shape, longer.grid), parts))
