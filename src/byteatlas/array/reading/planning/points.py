"""A coordinate selection: its points, grouped by the chunks that hold them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from byteatlas.array.reading.planning.axes import ChunkBounds, chunk_positions
from byteatlas.array.spaces import ChunkNumbers, Ints
from byteatlas.meta.grid import chunk_counts
from byteatlas.meta.model import ChunkGrid
from byteatlas.types import Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class PointPlan:
    """Points grouped by chunk.

    Attributes:
        chunk: each chunk touched. edges: the points of row k are ``edges[k]:edges[k + 1]``.
        inside: per axis, each point's position within its chunk, grouped by chunk.
        place: where each point goes in the flat result.
    """

    chunk: ChunkNumbers
    edges: Ints
    inside: tuple[Ints, ...]
    place: Ints

    def points(self, row: int) -> slice:
        """The points in a chunk, in the order of ``inside`` and ``place``."""
        return slice(int(self.edges[row]), int(self.edges[row + 1]))


def plan_points(at: Sequence[Ints], shape: Shape, grid: ChunkGrid) -> PointPlan:
    """``at``: for each axis the positions of all points."""
    counts = chunk_counts(shape, grid)
    total = len(at[0]) if at else 1
    flat = np.zeros(total, np.int64)
    inside: list[Ints] = []
    for axis, position in enumerate(at):
        number = chunk_positions(position, shape[axis], grid, axis)
        begin, _ = ChunkBounds(shape[axis], grid, axis)(number)
        inside.append(position - begin)
        flat = flat * counts[axis] + number
    order = np.argsort(flat, kind="stable")
    flat = flat[order]
    edge = np.flatnonzero(np.diff(flat, prepend=-1))
    return PointPlan(ChunkNumbers(flat[edge]), np.append(edge, total), tuple(i[order] for i in inside), order)
