"""Chunks that are asked for together, as boxes of the chunk grid: each is one read."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from byteatlas.types import Shape
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True)
class ChunkBox:
    """All combinations of some positions along each axis of a chunk grid; positions ascend."""

    positions: tuple[tuple[int, ...], ...]

    @property
    def size(self) -> int:
        return math.prod(map(len, self.positions))


def boxes(chunks: Sequence[Shape], most: int) -> Iterator[ChunkBox]:
    """Boxes of at most ``most`` chunks (one at least) that hold each of these grid positions once.

    >>> [b.positions for b in boxes([(0, 1), (0, 2), (3, 1)], 10)]
    [((0,), (1, 2)), ((3,), (1,))]
    """
    unique = sorted(set(chunks))
    if not unique:
        return
    positions = tuple(tuple(sorted(set(axis))) for axis in zip(*unique, strict=True))
    box = ChunkBox(positions)
    if box.size == len(unique) <= max(most, 1):
        yield box
        return
    axis = next(i for i, axis in enumerate(positions) if len(axis) > 1)
    if box.size != len(unique):
        for at in positions[axis]:
            yield from boxes([c for c in unique if c[axis] == at], most)
        return
    middle = positions[axis][len(positions[axis]) // 2]
    yield from boxes([c for c in unique if c[axis] < middle], most)
    yield from boxes([c for c in unique if c[axis] >= middle], most)
