"""Numbers of any width out of big-endian streams of bits, without a loop over numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.errors import CorruptChunk
from byteatlas.types import Buffer
from byteatlas.values import dataclass

WIDEST = 64
WIDEST_GROUP = 56
BLOCK = 1 << 15
"""Values that are decoded at a time, so that all intermediate arrays stay in the cache."""


def stream(data: Buffer, name: str, start: int, nbits: int) -> None:
    """There are ``nbits`` bits from bit ``start`` on. Raises `CorruptChunk`."""
    if start + nbits > 8 * len(data):
        raise CorruptChunk(f"{name}: {nbits} bits from bit {start} on in {len(data)} bytes")


def aligned(nbits: int) -> int:
    """The next multiple of 8."""
    return -(-nbits // 8) * 8


def numbers(data: Buffer, start: int, width: int, count: int, name: str = "grib") -> NDArray[Any]:
    """``count`` unsigned numbers of ``width`` bits each (0 to 64) from bit ``start`` of ``data`` on.

    The result has shape (count,) and an unsigned dtype of 4 or 8 bytes, or is a big-endian view of ``data``. Raises
    `CorruptChunk` when the bits are not all there, before anything is allocated.
    """
    if width > WIDEST:
        raise CorruptChunk(f"{name}: numbers of {width} bits")
    stream(data, name, start, width * count)
    if not width or not count:
        return np.zeros(count, np.uint32)
    if width in (8, 16, 32, 64) and not start % 8:
        return np.frombuffer(data, f">u{width // 8}", count, start // 8)
    rows = -(-count // 8)
    found = np.empty((rows, 8), np.uint32 if width <= 25 else np.uint64)
    first = start // 8
    # The window of a number reaches up to 8 bytes beyond its own: the last rows are read from a padded copy.
    inside = max(0, min(rows, (len(data) - first - 16) // width - 1))
    _columns(found[:inside], data, start, width)
    beyond = (rows - inside) * width + 16
    tail = bytes(data[first + inside * width : first + inside * width + beyond]).ljust(beyond, b"\0")
    _columns(found[inside:], tail, start % 8, width)
    return found.reshape(-1)[:count]


def _columns(out: NDArray[Any], data: Buffer, start: int, width: int) -> None:
    """Eight numbers take ``width`` bytes: the numbers of a column lie at the same bit of a byte."""
    rows = len(out)
    if not rows:
        return
    if width > 57:
        high, low = np.empty((rows, 8), np.uint64), np.empty((rows, 8), np.uint64)
        _windows(high, data, start, width - 32, width)
        _windows(low, data, start + width - 32, 32, width)
        np.left_shift(high, np.uint64(32), out=out)
        out |= low
    else:
        _windows(out, data, start, width, width)


def _windows(out: NDArray[Any], data: Buffer, start: int, width: int, step: int) -> None:
    size = out.dtype.itemsize
    for column in range(8):
        byte, bit = divmod(start + column * step, 8)
        window: NDArray[Any] = np.ndarray((len(out),), f">u{size}", data, byte, (step,))
        np.right_shift(window, out.dtype.type(8 * size - width - bit), out=out[:, column])
    out &= out.dtype.type((1 << width) - 1)


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of numbers that lie one after another, as a stream of bits.

    Attributes:
        widths: bits of each number of a group.
        lengths: numbers of each group.
        references: what is added to each number of a group.
    """

    widths: NDArray[np.int64]
    lengths: NDArray[np.int64]
    references: NDArray[np.int64]

    def blocks(self, data: Buffer, start: int, name: str) -> Iterator[tuple[slice, NDArray[np.int64]]]:
        """Which groups, and their numbers with references added: a block of whole groups that stays in the cache.

        Blocks follow one another. Numbers are a buffer that the caller may change, and that the next block overwrites.
        The caller has bounded the sum of lengths. Raises `CorruptChunk` before the first block.
        """
        count = len(self.lengths)
        if count and int(self.widths.max()) > WIDEST_GROUP:
            raise CorruptChunk(f"{name}: groups of numbers of {int(self.widths.max())} bits")
        bits = np.cumsum(self.widths * self.lengths)
        stream(data, name, start, int(bits[-1]) if count else 0)
        last = np.cumsum(self.lengths)
        scratch = np.empty(min(BLOCK, int(last[-1])) if count else 0, np.int64)
        narrow = not count or int(self.widths.max()) <= 25
        group = done = 0
        while group < count:
            after = max(group + 1, int(np.searchsorted(last, done + BLOCK, "right")))
            bit, stop = start + (int(bits[group - 1]) if group else 0), int(last[after - 1])
            which = slice(group, after)
            if after == group + 1:
                found = numbers(data, bit, int(self.widths[group]), stop - done, name).astype(np.int64)
                found += self.references[group]
            else:
                found = scratch[: stop - done]
                end = start + int(bits[after - 1])
                words = _words(data, bit // 8, -(-end // 8), np.uint32 if narrow else np.uint64)
                self._gather(found, words, bit % 8, which)
            yield which, found
            group, done = after, stop

    def _gather(self, out: NDArray[np.int64], words: NDArray[Any], bit: int, which: slice) -> None:
        """Each number is in the word that begins at its first byte: a shift to the left and one to the right."""
        kind = words.dtype
        lengths = self.lengths[which]
        width = np.repeat(self.widths[which].astype(np.uint32), lengths)
        place = np.cumsum(width, dtype=np.uint32)
        place -= width
        place += np.uint32(bit)
        found = words.take((place >> np.uint32(3)).astype(np.intp), mode="clip")
        place &= np.uint32(7)
        np.left_shift(found, place.astype(kind, copy=False), out=found)
        np.subtract(np.uint32(8 * kind.itemsize), width, out=width)
        # A number of no bits is shifted by all bits of the word, which gives 0.
        np.right_shift(found, width.astype(kind, copy=False), out=found)
        whole = found if kind.itemsize == 4 else found.view(np.int64)  # sums of uint64 and int64 would be float64
        np.add(whole, np.repeat(self.references[which], lengths), out=out)

    def all(self, data: Buffer, start: int, name: str) -> NDArray[np.int64]:
        """All numbers, shape (sum of lengths,). Raises `CorruptChunk`."""
        found = np.empty(int(self.lengths.sum()), np.int64)
        done = 0
        for _, block in self.blocks(data, start, name):
            found[done : done + len(block)] = block
            done += len(block)
        return found


def _words(data: Buffer, first: int, last: int, kind: type[np.unsignedinteger[Any]]) -> NDArray[Any]:
    """The word that begins at each byte from ``first`` to ``last``, with zeros beyond the end of the data."""
    size = np.dtype(kind).itemsize
    count = last - first + 1
    part = data[first : last + size]
    if len(part) < count + size:
        part = bytes(part).ljust(count + size, b"\0")
    view: NDArray[Any] = np.ndarray((count,), f">u{size}", part, 0, (1,))
    return view.astype(kind)
