"""The bytes of some items: parts of one block that was read, or a buffer for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import compress
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from byteatlas.types import Buffer, Ints
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class BlockParts:
    """``block[start:start + length]`` for each item. The block's memory is used again for the next one."""

    block: memoryview
    start: Ints
    length: Ints

    def __len__(self) -> int:
        return len(self.start)

    def __iter__(self) -> Iterator[Buffer]:
        for a, b in zip(self.start.tolist(), (self.start + self.length).tolist(), strict=True):
            yield self.block[a:b]

    def only(self, chosen: NDArray[np.bool_]) -> BlockParts:
        """Those of some of the items."""
        return BlockParts(self.block, self.start[chosen], self.length[chosen])

    def rows(self, nbytes: int) -> NDArray[np.uint8] | None:
        """All as an array (items, nbytes); None when one has another length. A view where they are evenly spaced."""
        total = len(self.start)
        if not bool((self.length == nbytes).all()):
            return None
        if total == 1:
            return np.ndarray((1, nbytes), np.uint8, self.block, int(self.start[0]))
        step = self.start[1:] - self.start[:-1]
        if bool((step == step[0]).all() and step[0] >= 0):
            return np.ndarray((total, nbytes), np.uint8, self.block, int(self.start[0]), (int(step[0]), 1))
        windows = np.ndarray((len(self.block) - nbytes + 1, nbytes), np.uint8, self.block, 0, (1, 1))
        return windows[self.start]


@dataclass(frozen=True, slots=True, eq=False)
class Separate:
    """A buffer for each item."""

    values: Sequence[Buffer]

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Buffer]:
        return iter(self.values)

    def only(self, chosen: NDArray[np.bool_]) -> Separate:
        """Those of some of the items."""
        return Separate(list(compress(self.values, chosen)))

    def rows(self, nbytes: int) -> NDArray[np.uint8] | None:
        """All as an array (items, nbytes); None when one has another length."""
        if set(map(len, self.values)) != {nbytes}:
            return None
        return np.frombuffer(b"".join(self.values), np.uint8).reshape(len(self.values), nbytes)


Fetched: TypeAlias = BlockParts | Separate
