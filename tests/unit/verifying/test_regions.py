"""Which parts of an array are compared at a time: every value once, or the chunks of a sample."""

from __future__ import annotations

import numpy as np
import pytest

from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.verifying import regions as module
from byteatlas.verifying.regions import region_of, regions, where

LITTLE = Encoding((CodecSpec("bytes", {"endian": "little"}),))


def meta(shape: tuple[int, ...], chunks: tuple[int, ...], dtype: str = "f8") -> ArrayMeta:
    return ArrayMeta(shape, from_numpy(np.dtype(dtype)), RegularGrid(chunks), (LITTLE,))


def counted(array: ArrayMeta, sample: int | None) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """How often each value is compared."""
    found = np.zeros(array.shape, np.int64)
    for region in regions(array, sample):
        found[region] += 1
    return found


@pytest.mark.parametrize("block", [1, 200, 10**9])
@pytest.mark.parametrize("sample", [None, 9, 100])
def test_every_value_once(block: int, sample: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    for shape, chunks in [((7, 5), (3, 2)), ((6,), (4,)), ((), ()), ((4, 0), (2, 1))]:
        assert (counted(meta(shape, chunks), sample) == 1).all()


def test_blocks_are_whole_chunk_rows_of_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    array = meta((12, 5), (3, 2))  # a row of chunks is 120 bytes
    for block, wanted in {120: [3, 6, 9, 12], 121: [6, 12], 240: [6, 12], 241: [9, 12], 10**6: [12]}.items():
        monkeypatch.setattr(module, "BLOCK", block)
        found = [region[0] for region in regions(array, None)]
        assert [s.stop for s in found] == wanted
        assert [s.start for s in found] == [0, *wanted[:-1]]
        assert all(region[1] == slice(0, 5) for region in regions(array, None))


def test_arrays_without_values_and_without_axes() -> None:
    assert list(regions(meta((), ()), None)) == [()]
    assert list(regions(meta((0, 3), (1, 3)), None)) == [(slice(0, 0), slice(0, 3))]
    assert list(regions(meta((2, 0), (1, 3)), None)) == [(slice(0, 2), slice(0, 0))]


def test_a_sample_is_so_many_different_chunks_and_always_the_same() -> None:
    array = meta((7, 5), (3, 2))
    first, second = list(regions(array, 4)), list(regions(array, 4))
    assert first == second
    assert len(first) == 4
    assert counted(array, 4).max() == 1
    assert first == sorted(first, key=lambda r: (r[0].start, r[1].start))


def test_the_region_of_a_chunk() -> None:
    array = meta((7, 5), (3, 2))
    assert region_of(array, 0) == (slice(0, 3), slice(0, 2))
    assert region_of(array, 4) == (slice(3, 6), slice(2, 4))
    assert region_of(array, 8) == (slice(6, 7), slice(4, 5))
    assert region_of(meta((), ()), 0) == ()


def test_where_in_words() -> None:
    assert where((slice(0, 3), slice(2, 4))) == "in [0:3, 2:4] "
    assert where(()) == ""
