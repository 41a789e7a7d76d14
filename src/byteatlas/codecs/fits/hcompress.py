"""HCOMPRESS_1: the H-transform of an image, its bit planes coded as quadtrees (FITS 4.0, section 10.4.4; White 1992).

The stream has a header, the bit planes of the four quadrants of coefficients, and the signs. Codes of the quadtrees
have three to six bits; what each position of the stream would mean as the beginning of a code is looked up for all of
them at once, so that following the codes is all that is left to do one by one.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from byteatlas.codecs.fits.htransform import inverse, levels
from byteatlas.errors import CorruptChunk

HEADER = struct.Struct(">2s3iq3B")
MAGIC = b"\xdd\x99"
MOST_PLANES = 62
WINDOW = 6
CODES = (
    (0x3E, 6), (0x00, 3), (0x01, 3), (0x08, 4), (0x02, 3), (0x09, 4), (0x1A, 5), (0x1B, 5),
    (0x03, 3), (0x1C, 5), (0x0A, 4), (0x1D, 5), (0x0B, 4), (0x1E, 5), (0x3F, 6), (0x0C, 4),
)  # fmt: skip
"""The code of each value 0 to 15, and its bits."""
DIRECT, QUADTREE = 0x0, 0xF


def _tables() -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For six bits the value that they begin with, and the bits of its code."""
    values, lengths = np.zeros(1 << WINDOW, np.uint8), np.zeros(1 << WINDOW, np.uint8)
    for value, (code, bits) in enumerate(CODES):
        begin = code << (WINDOW - bits)
        values[begin : begin + (1 << (WINDOW - bits))] = value
        lengths[begin : begin + (1 << (WINDOW - bits))] = bits
    return values, lengths


VALUES, LENGTHS = _tables()


def decode_hcompress(data: Any, rows: int, columns: int, smooth: bool) -> NDArray[np.int32]:
    """The image of this shape. Raises `CorruptChunk`."""
    if len(data) < HEADER.size:
        raise CorruptChunk(f"hcompress: {len(data)} bytes are no stream")
    magic, nx, ny, scale, total, *planes = HEADER.unpack_from(data)
    if magic != MAGIC or (nx, ny) != (rows, columns) or max(planes) > MOST_PLANES or min(rows, columns) < 2:
        raise CorruptChunk(f"hcompress: an image of {nx} by {ny} in a tile of {rows} by {columns}")
    stream = _Stream(np.frombuffer(data, np.uint8, offset=HEADER.size))
    found = np.zeros((rows, columns), np.int64)
    x, y = (rows + 1) // 2, (columns + 1) // 2
    quadrants = ((found[:x, :y], 0), (found[:x, y:], 1), (found[x:, :y], 1), (found[x:, y:], 2))
    for quadrant, which in quadrants:
        stream.planes(quadrant, planes[which])
    if stream.nybble() != 0:
        raise CorruptChunk("hcompress: no end after the bit planes")
    stream.signs(found.reshape(-1))
    found[0, 0] = total
    if scale > 1:
        found *= scale
    return inverse(found, scale if smooth else 0).astype(np.int32)


class _Stream:
    """The bits after the header, one a byte, and where reading is. Zeros follow, more than any code is long."""

    __slots__ = ("at", "bits", "size")

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self.size, self.at = 8 * len(data), 0
        self.bits = np.concatenate([np.unpackbits(data), np.zeros(64, np.uint8)])

    def _check(self) -> None:
        if self.at > self.size:
            raise CorruptChunk("hcompress: the stream ends too early")

    def nybble(self) -> int:
        return int(self.nybbles(1)[0])

    def nybbles(self, count: int) -> NDArray[np.uint8]:
        """The next numbers of four bits."""
        begin, self.at = self.at, self.at + 4 * count
        self._check()
        four = self.bits[begin : self.at].reshape(count, 4)
        return four @ np.array([8, 4, 2, 1], np.uint8)

    def codes(self, count: int) -> NDArray[np.uint8]:
        """The values of the next codes."""
        if not count:
            return np.empty(0, np.uint8)
        if self.at + 3 * count > self.size:
            raise CorruptChunk("hcompress: the stream ends too early")
        values, lengths = _meanings(self.bits[self.at : self.at + WINDOW * (count + 5)])
        four, at, places = _of_four(lengths), 0, []
        last = len(four) - 1
        for _ in range(-(-count // 4)):
            places.append(at)
            at += four[at]
            if at > last:
                at = last
        where = np.empty((len(places), 4), np.int64)
        where[:, 0] = places
        for k in range(3):
            where[:, k + 1] = np.minimum(where[:, k] + lengths[where[:, k]], last)
        flat = where.reshape(-1)[:count]
        self.at += int(flat[-1]) + int(lengths[flat[-1]])
        self._check()
        found: NDArray[np.uint8] = values[flat]
        return found

    def planes(self, quadrant: NDArray[np.int64], count: int) -> None:
        """The bit planes of one quadrant of coefficients, the highest first."""
        rows, columns = quadrant.shape
        for bit in range(count - 1, -1, -1):
            coding = self.nybble()
            if coding == DIRECT:
                shape = (rows + 1) // 2, (columns + 1) // 2
                cells = self.nybbles(shape[0] * shape[1]).reshape(shape)
            elif coding == QUADTREE:
                cells = self._quadtree(rows, columns)
            else:
                raise CorruptChunk(f"hcompress: a bit plane of coding {coding}")
            quadrant |= _expanded(cells, rows, columns).astype(np.int64) << bit

    def _quadtree(self, rows: int, columns: int) -> NDArray[np.uint8]:
        """A bit plane in cells of two by two; cells that are not zero are coded, from the last to the first."""
        cells = self.codes(1).reshape(1, 1)
        depth = levels(max(rows, columns))
        for k in range(1, depth):
            step = 1 << (depth - k)
            grown = _expanded(cells, -(-rows // step), -(-columns // step))
            flat = np.ascontiguousarray(grown).reshape(-1)
            marked = np.flatnonzero(flat)[::-1]
            flat[marked] = self.codes(len(marked))
            cells = flat.reshape(grown.shape[0], grown.shape[1])
        return cells

    def signs(self, flat: NDArray[np.int64]) -> None:
        """A bit for each coefficient that is not zero, from the next byte on: whether it is negative."""
        there = np.flatnonzero(flat)
        begin = -(-self.at // 8) * 8
        self.at = begin + len(there)
        self._check()
        negative = there[self.bits[begin : self.at] != 0]
        flat[negative] = -flat[negative]


def _meanings(bits: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For each position the value of the code that would begin there, and its bits."""
    window = np.zeros(len(bits) - WINDOW, np.uint8)
    for k in range(WINDOW):
        window |= bits[k : k + len(window)] << (WINDOW - 1 - k)
    return VALUES[window], LENGTHS[window]


def _of_four(lengths: NDArray[np.uint8]) -> bytes:
    """For each position the bits of the four codes from there on."""
    place = np.arange(len(lengths), dtype=np.int32)
    pair = lengths + lengths[np.minimum(place + lengths, len(lengths) - 1)]
    four: NDArray[np.uint8] = pair + pair[np.minimum(place + pair, len(lengths) - 1)]
    return four.tobytes()


UPPER = np.array([[k >> 3, k >> 2 & 1] for k in range(16)], np.uint8).view(np.uint16).reshape(16)
LOWER = np.array([[k >> 1 & 1, k & 1] for k in range(16)], np.uint8).view(np.uint16).reshape(16)
"""The upper and the lower two of a cell's four bits, side by side."""


def _expanded(cells: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """Cells as their four bits, two by two; the last row or column of cells may be half outside."""
    out = np.empty((2 * cells.shape[0], cells.shape[1]), np.uint16)
    out[0::2] = UPPER[cells]
    out[1::2] = LOWER[cells]
    return out.view(np.uint8)[:rows, :columns]
