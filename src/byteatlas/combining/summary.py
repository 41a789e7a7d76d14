"""What was prepared, as the values that people and machines read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from byteatlas.combining.context import Dimension
from byteatlas.combining.coordinates.order import files_of
from byteatlas.combining.model import (
    BlockPlan,
    DimensionPlan,
    VariablePlan,
    scalar_json,
)
from byteatlas.combining.variable.treatment import Concatenation, Treatment, is_plain, meta_of
from byteatlas.meta.grid import chunk_total
from byteatlas.meta.model import RectilinearGrid


def variable_plan(path: str, treatment: Treatment) -> VariablePlan:
    """A variable as the plan shows it."""
    meta = meta_of(treatment)
    action = treatment.action if not isinstance(treatment, Concatenation) else "concatenated"
    grid = meta.grid
    if isinstance(grid, RectilinearGrid):
        chunks = " x ".join(edges_text(e) for e in grid.edges)
    else:
        chunks = " x ".join(str(c) for c in grid.chunk_shape)
    return VariablePlan(
        path,
        action,
        meta.dimension_names or (None,) * meta.ndim,
        meta.shape,
        meta.data_type.name,
        chunks,
        len(meta.encodings),
        is_plain(meta),
        chunk_total(meta.shape, grid),
    )


def edges_text(edges: Sequence[int]) -> str:
    """Chunk lengths along an axis, the frequent ones with their count."""
    counts = Counter(edges).most_common(3)
    text = ", ".join(f"{n}*{length}" if n > 1 else str(length) for length, n in counts)
    return (
        f"({text}{', ...' if len(set(edges)) > 3 else ''})" if len(counts) > 1 else str(counts[0][0]) if counts else "0"
    )


def dimension_plan(dim: Dimension, names: Sequence[str]) -> DimensionPlan:
    """A dimension as the plan shows it."""
    coord = dim.coordinate
    if coord.values is None:
        blocks = tuple(BlockPlan(None, None, n, (name,)) for n, name in zip(dim.lengths, names, strict=True))
    else:
        files = files_of(dim.arranged, names)
        blocks = tuple(
            BlockPlan(scalar_json(b[0]) if len(b) else None, scalar_json(b[-1]) if len(b) else None, n, tuple(f))
            for b, n, f in zip(dim.arranged.blocks, dim.lengths, files, strict=True)
        )
    time = coord.time
    return DimensionPlan(
        dim.name,
        coord.source,
        dim.arranged.direction,
        sum(dim.lengths),
        blocks,
        time.text if time else None,
        time.calendar if time else None,
    )
