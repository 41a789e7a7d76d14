"""What is to be fetched, and who takes it."""

from __future__ import annotations

from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from byteatlas.array.reading.fetching.fetched import Fetched
from byteatlas.array.reading.fetching.pool import ReadScratch
from byteatlas.array.reading.fetching.sources import WHOLE, Sources
from byteatlas.array.spaces import Ints, Items, SourceNumbers
from byteatlas.types import ByteRange
from byteatlas.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Byte ranges as columns. ``item``: what the receiver calls each. ``length`` WHOLE: all of the source."""

    item: Items
    source: SourceNumbers
    offset: Ints
    length: Ints
    sources: Sources

    def __len__(self) -> int:
        return len(self.item)

    def only(self, chosen: NDArray[np.bool_]) -> Ranges:
        """Some of the ranges."""
        return Ranges(
            Items(self.item[chosen]),
            SourceNumbers(self.source[chosen]),
            self.offset[chosen],
            self.length[chosen],
            self.sources,
        )

    def whole(self) -> NDArray[np.bool_]:
        """Which of them are whole sources."""
        found: NDArray[np.bool_] = self.length == WHOLE
        return found

    def at(self, number: int) -> ByteRange:
        """One of the ranges."""
        return ByteRange(int(self.offset[number]), int(self.length[number]))


class Receiver(Protocol):
    """Takes fetched bytes. Called from several threads; each item is delivered exactly once."""

    def accept(self, items: Items, fetched: Fetched, scratch: ReadScratch) -> None:
        """The bytes of some items. They are gone when the call returns: their memory is used again."""
        ...


class ChunkReceiver(Receiver, Protocol):
    """Takes chunks, which may be absent."""

    def absent(self, items: Items) -> None:
        """These do not exist, and that means that they were never written."""
        ...


@runtime_checkable
class LendsMemory(Protocol):
    """A receiver that can have bytes put into its own memory, without a call of `Receiver.accept`."""

    def memory(self, item: int) -> memoryview | None:
        """Memory of as many bytes as this item has once it is decoded; None when they need decoding."""
        ...


def lends_memory(receiver: Receiver) -> TypeGuard[LendsMemory]:
    """Whether a receiver is a `LendsMemory`. Its class is asked, which is remembered: ``isinstance`` takes longer."""
    return issubclass(type(receiver), LendsMemory)
