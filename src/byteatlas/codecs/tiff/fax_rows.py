"""Rows of CCITT fax images (ITU-T T.4 and T.6), decoded strictly.

Other decoders go on after damage, or leave the rest of the image white. Here each code word must be one of the
standard's and each row must be exactly as wide as the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.core.contract import Bytes
from byteatlas.codecs.tiff.fax_codes import EOL_ZEROS, LONGEST, LONGEST_MODE, MAKE_UP, modes, runs
from byteatlas.errors import CorruptChunk

WINDOW = 32
"""Bits that can be looked at from each byte on."""
CHANGES = list[int]
"""The columns at which a row changes its colour; it begins white."""


class FaxRows:
    """Decodes row after row. Raises `CorruptChunk` for what is no row."""

    __slots__ = ("at", "bits", "width", "words")

    def __init__(self, data: Bytes, width: int) -> None:
        raw = np.frombuffer(data, np.uint8)
        padded = np.zeros(len(raw) + 4, np.uint32)
        padded[: len(raw)] = raw
        words = padded[:-3] << 24 | padded[1:-2] << 16 | padded[2:-1] << 8 | padded[3:]
        self.words: list[int] = words.tolist()
        self.bits = len(raw) * 8
        self.width = width
        self.at = 0

    def peek(self, count: int) -> int:
        """The next bits as a number; zeros behind the end."""
        if self.at >= self.bits:
            return 0
        return self.words[self.at >> 3] >> (WINDOW - count - (self.at & 7)) & ((1 << count) - 1)

    def align(self) -> None:
        """Go on at a byte's begin."""
        self.at = -(-self.at // 8) * 8

    def end_of_line(self) -> bool:
        """Pass over an end-of-line code with the zeros in front of it; whether there is one."""
        at = self.at
        while self.at < self.bits and not self.peek(8):
            self.at += 8
        while self.at < self.bits and not self.peek(1):
            self.at += 1
        if self.at - at >= EOL_ZEROS and self.at < self.bits:
            self.at += 1
            return True
        self.at = at
        return False

    def tag(self) -> int:
        """The bit behind an end-of-line code: whether the row has one dimension."""
        bit = self.peek(1)
        self.at += 1
        return bit

    def one(self) -> CHANGES:
        """A row of one dimension: runs of white and black in turn."""
        changes: CHANGES = []
        column, colour, width = 0, 0, self.width
        while column < width:
            column += self._run(colour)
            _note(changes, column, width)
            colour ^= 1
        return self._checked(changes, column)

    def two(self, above: CHANGES) -> CHANGES:
        """A row that is told by its differences from the row above."""
        table, width = modes(), self.width
        reference = [*above, width, width, width, width]
        changes: CHANGES = []
        column, colour, i = -1, 0, 0
        while column < width:
            # The first change above to the right of this place, to the other colour.
            while i and reference[i - 1] > column:
                i -= 1
            while reference[i] <= column:
                i += 1
            i += (i ^ colour) & 1
            found = table[self.peek(LONGEST_MODE)]
            if found is None:
                raise self._damage()
            mode, length = found
            self.at += length
            if mode == "pass":
                column = reference[i + 1]
            elif mode == "horizontal":
                column = max(column, 0) + self._run(colour)
                _note(changes, column, width)
                column += self._run(colour ^ 1)
                _note(changes, column, width)
            else:
                before, column = max(column, 0), reference[i] + mode
                if column < before:
                    raise self._damage()
                _note(changes, column, width)
                colour ^= 1
        return self._checked(changes, column)

    def _run(self, colour: int) -> int:
        table = runs()[colour]
        total = 0
        while True:
            found = table[self.peek(LONGEST)]
            if found is None:
                raise self._damage()
            run, length = found
            self.at += length
            total += run
            if run < MAKE_UP:
                return total
            if total > self.width:
                raise self._damage()

    def _checked(self, changes: CHANGES, column: int) -> CHANGES:
        if column != self.width or self.at > self.bits:
            raise self._damage()
        return changes

    def _damage(self) -> CorruptChunk:
        if self.at >= self.bits:
            return CorruptChunk("ccitt: the data end before the last row")
        return CorruptChunk(f"ccitt: bit {self.at} of {self.bits}: no code word of a row of {self.width} pixels")


def _note(changes: CHANGES, column: int, width: int) -> None:
    """A change of colour; two at one place are none."""
    if changes and changes[-1] == column:
        changes.pop()
    elif column < width:
        changes.append(column)


def decode_modified_huffman(data: Bytes, height: int, width: int) -> NDArray[np.uint8]:
    """Compression 2: rows of one dimension without ends of lines, each from a byte's begin on (TIFF 6.0 section 10)."""
    rows = FaxRows(data, width)
    found = []
    for _ in range(height):
        rows.align()
        found.append(rows.one())
    return _image(found, width)


def decode_group_3(data: Bytes, height: int, width: int, two_dimensional: bool) -> NDArray[np.uint8]:
    """Compression 3 (TIFF 6.0 section 11): ends of lines, which some writers leave out of images of one dimension."""
    rows = FaxRows(data, width)
    found: list[CHANGES] = []
    above: CHANGES = []
    for _ in range(height):
        marked = rows.end_of_line()
        if two_dimensional and not marked:
            raise CorruptChunk(f"ccitt: bit {rows.at} of {rows.bits}: no end of a line")
        above = rows.one() if not two_dimensional or rows.tag() else rows.two(above)
        found.append(above)
    return _image(found, width)


def decode_group_4(data: Bytes, height: int, width: int) -> NDArray[np.uint8]:
    """Compression 4 (TIFF 6.0 section 11): rows of two dimensions only."""
    rows = FaxRows(data, width)
    found: list[CHANGES] = []
    above: CHANGES = []
    for _ in range(height):
        above = rows.two(above)
        found.append(above)
    return _image(found, width)


def _image(rows: Sequence[CHANGES], width: int) -> NDArray[np.uint8]:
    """White as 0, black as 1; shape ``(height, width)``."""
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    columns = np.fromiter((c for row in rows for c in row), np.int64, int(lengths.sum()))
    change = np.zeros((len(rows), width), np.uint8)
    change[np.repeat(np.arange(len(rows)), lengths), columns] = 1
    return np.bitwise_xor.accumulate(change, axis=1)
