"""Numbers out of streams of bits, against Python's own integers."""

from __future__ import annotations

import numpy as np
import pytest

from byteatlas.codecs.grib.packing.bits import Groups, numbers
from byteatlas.codecs.grib.packing.differences import Differences
from byteatlas.errors import CorruptChunk

RNG = np.random.default_rng(3)
DATA = RNG.integers(0, 256, 4000, np.uint8).tobytes()
WHOLE = int.from_bytes(DATA, "big")


def plain(start: int, width: int, count: int) -> list[int]:
    total = 8 * len(DATA)
    return [WHOLE >> (total - start - (i + 1) * width) & ((1 << width) - 1) for i in range(count)]


@pytest.mark.parametrize("start", [0, 3, 8, 21])
@pytest.mark.parametrize("width", range(1, 65))
def test_numbers_of_any_width(width: int, start: int) -> None:
    for count in (1, 7, 8, 9, 100, (8 * len(DATA) - start) // width):
        assert numbers(DATA, start, width, count).tolist() == plain(start, width, count)


def test_numbers_beyond_the_end_are_refused() -> None:
    with pytest.raises(CorruptChunk):
        numbers(DATA, 8 * len(DATA) - 6, 7, 1)
    with pytest.raises(CorruptChunk, match="65 bits"):
        numbers(DATA, 0, 65, 1)


@pytest.mark.parametrize("widest", [5, 25, 26, 56])
def test_groups(widest: int) -> None:
    widths = RNG.integers(0, widest + 1, 60)
    lengths = RNG.integers(0, 20, 60)
    while int((widths * lengths).sum()) > 8 * len(DATA) - 13:
        lengths //= 2
    references = RNG.integers(0, 1000, 60)
    wanted, bit = [], 13
    for width, length, reference in zip(widths.tolist(), lengths.tolist(), references.tolist(), strict=True):
        wanted += [v + reference for v in plain(bit, width, length)]
        bit += width * length
    assert Groups(widths, lengths, references).all(DATA, 13, "test").tolist() == wanted


@pytest.mark.parametrize("cut", [1, 2, 3, 50])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_differences_in_blocks(order: int, cut: int) -> None:
    values = RNG.integers(-1000, 1000, 200)
    block = np.concatenate([np.zeros(order, np.int64), np.diff(values, order) - 7])
    state = Differences(values[:order].tolist(), 7)
    for part in (block[:cut], block[cut:120], block[120:]):
        state.undo(part)
    assert block.tolist() == values.tolist()
