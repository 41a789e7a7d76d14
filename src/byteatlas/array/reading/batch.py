"""Many small whole chunks at once: gathered or decoded into rows, and put into the result with one assignment.

This is what keeps the cost of a 256-byte chunk near that of its decoder: no slices, no views, no Python objects that
are not needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from byteatlas.array.reading.plan import AxisPlan, Plan
from byteatlas.types import Shape

Ints = NDArray[np.int64]
SMALL = 64 << 10
"""Chunks that decode to at most this many bytes are handled in batches."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockView:
    """The part of the result that whole chunks cover, as an array of chunks.

    Attributes:
        blocks: shape (chunks along each axis..., chunk shape...); a view of the result.
        first: per axis, the plan's piece that ``blocks`` begins with.
    """

    blocks: NDArray[Any]
    first: Shape
    chunk_shape: Shape

    @property
    def counts(self) -> Shape:
        return self.blocks.shape[: len(self.first)]

    def whole(self, pieces: tuple[Ints, ...]) -> NDArray[np.bool_]:
        """Which of these chunks are whole ones."""
        found = np.ones(len(pieces[0]), bool)
        for piece, lo, n in zip(pieces, self.first, self.counts, strict=True):
            found &= (piece >= lo) & (piece < lo + n)
        return found

    def put(self, pieces: tuple[Ints, ...], values: Any) -> None:
        """Assign chunks; ``values`` has shape (chunks, chunk shape...)."""
        self.blocks[tuple(p - lo for p, lo in zip(pieces, self.first, strict=True))] = values

    def rows(self, pieces: tuple[Ints, ...]) -> list[NDArray[Any]] | None:
        """The chunks as views to decode into, when each is contiguous in the result; else None."""
        ndim = len(self.first)
        if ndim != 1 or not self.blocks[:1].flags.c_contiguous:
            return None
        blocks = self.blocks
        return [blocks[i] for i in (pieces[0] - self.first[0]).tolist()]


def block_view(plan: Plan, target: NDArray[Any], chunk_shape: Shape) -> BlockView | None:
    """The result seen as an array of whole chunks (of a regular grid); None when no chunk is wholly selected."""
    if not plan.axes or not plan.simple:
        return None
    firsts: list[int] = []
    where: list[slice] = []
    split: list[int] = []
    for axis, size in zip(plan.axes, chunk_shape, strict=True):
        run = _whole_run(axis, size)
        if run is None:
            return None
        lo, n = run
        at = int(axis.out[lo])
        firsts.append(lo)
        where.append(slice(at, at + n * size))
        split += [n, size]
    grid = _split(target, where, split)
    order = (*range(0, len(split), 2), *range(1, len(split), 2))
    return BlockView(grid.transpose(order), tuple(firsts), chunk_shape)


def _split(target: NDArray[Any], where: list[slice], split: list[int]) -> NDArray[Any]:
    """A reshape into (chunks, positions within) for every axis. Splitting an axis never copies."""
    part = target[tuple(where)]
    grid = part.reshape(split)
    assert np.may_share_memory(grid, part)
    return grid


def _whole_run(axis: AxisPlan, size: int) -> tuple[int, int] | None:
    """The pieces that take a whole chunk of this size: the first of them and how many; they are neighbours."""
    if axis.step != 1 and size != 1:
        return None
    whole = np.flatnonzero((axis.start == 0) & (axis.count == size) & (axis.extent == size))
    if not len(whole) or int(whole[-1]) - int(whole[0]) + 1 != len(whole):
        return None
    return int(whole[0]), len(whole)


def gather(block: memoryview, starts: Ints, nbytes: int) -> NDArray[np.uint8]:
    """Equally long pieces of a buffer as rows: a view where they are evenly spaced, else a copy."""
    flat = np.frombuffer(block, np.uint8)
    step = np.diff(starts)
    if len(starts) == 1 or bool((step == step[0]).all() and step[0] >= 0):
        stride = int(step[0]) if len(step) else nbytes
        return np.ndarray((len(starts), nbytes), np.uint8, block, int(starts[0]), (stride, 1))
    return sliding_window_view(flat, nbytes)[starts]
