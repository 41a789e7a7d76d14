"""Reading any selection of any array gives what NumPy gives, whatever the grid, the codecs and the options."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.array_support import RAW, ZLIB, ReadInto, opener, virtual

from byteatlas.array import Array, ReadOptions, open_node
from byteatlas.array.reading import elements, raw_parts
from byteatlas.array.reading import read as read_module
from byteatlas.errors import BadSelection
from byteatlas.io.sources.memory import MemorySource
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import CodecSpec, Encoding, RectilinearGrid, RegularGrid

BIG = Encoding((CodecSpec("bytes", {"endian": "big"}),))
FORTRAN = (CodecSpec("transpose", {"order": [1, 0]}), *RAW)
SHUFFLED = (*RAW, CodecSpec("numcodecs.shuffle", {"elementsize": 4}), CodecSpec("numcodecs.zlib", {"level": 1}))


@st.composite
def grids(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    if draw(st.booleans()):
        return RegularGrid(tuple(draw(st.integers(1, 12)) for _ in shape))
    edges = []
    for n in shape:
        parts: list[int] = []
        while sum(parts) < n:
            parts.append(draw(st.integers(1, 6)))
        edges.append(tuple(parts))
    return RectilinearGrid(tuple(edges))


@st.composite
def arrays(draw: st.DrawFn) -> tuple[Array, np.ndarray[Any, Any]]:
    shape = tuple(draw(st.lists(st.integers(0, 13), max_size=3)))
    grid = draw(grids(shape))
    choices = [(Encoding(RAW),), (Encoding(ZLIB),), (Encoding(SHUFFLED),), (BIG,), (Encoding(RAW), Encoding(ZLIB), BIG)]
    if len(shape) == 2:
        choices += [(Encoding(FORTRAN),), (Encoding(FORTRAN), Encoding(ZLIB))]
    if isinstance(grid, RegularGrid):
        larger = tuple(n + 2 for n in grid.chunk_shape)
        choices.append((Encoding(ZLIB, chunk_shape=larger), Encoding(RAW)))
        choices.append((Encoding(ZLIB, data_type=from_numpy(np.dtype("i8"))), Encoding(RAW)))
    data = np.asarray(np.arange(int(np.prod(shape)), dtype="i4").reshape(shape) - 40)
    node, file, expected = virtual(data, grid, draw(st.sampled_from(choices)), seed=draw(st.integers(0, 999)))
    options = ReadOptions(
        threads=draw(st.sampled_from([1, 2])),
        local_gap=draw(st.sampled_from([0, 8, 40, 1 << 14])),
        local_block=draw(st.sampled_from([4, 16, 64, 1 << 20])),
    )
    opened = open_node(node, opener(file, draw(st.sampled_from([ReadInto, MemorySource]))), options=options)
    assert isinstance(opened, Array)
    return opened, expected


def one_slice(n: int) -> st.SearchStrategy[Any]:
    bound = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    return st.builds(slice, bound, bound, st.sampled_from([None, 1, 2, 3, 7, -1, -2, -5]))


@st.composite
def selections(draw: st.DrawFn, shape: tuple[int, ...]) -> Any:
    items = [draw(st.one_of(one_slice(n), st.integers(-n, n - 1)) if n else one_slice(n)) for n in shape]
    if draw(st.booleans()):
        keep = draw(st.integers(0, len(items)))
        return (*items[:keep], ...)
    return tuple(items)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds that real reads meet only with millions of chunks."""
    monkeypatch.setattr(read_module, "MOST_CHUNKS", 5)
    monkeypatch.setattr(raw_parts, "MOST_PARTS", 5)
    monkeypatch.setattr(read_module, "MANY_MISSING", 3)
    monkeypatch.setattr(elements, "MOST_POINTS", 5)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_basic_selection_is_numpys(data: st.DataObject) -> None:
    array, expected = data.draw(arrays())
    for _ in range(3):
        selection = data.draw(selections(expected.shape))
        got, want = array[selection], expected[selection]
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
        if isinstance(want, np.ndarray):
            out = np.full((*want.shape, 2), -1, "i4")[..., 0]  # not contiguous
            assert array.read(selection, out=out) is out
            np.testing.assert_array_equal(out, want)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_orthogonal_and_point_selection(data: st.DataObject) -> None:
    array, expected = data.draw(arrays().filter(lambda a: a[1].ndim > 0))
    items: list[Any] = []
    for n in expected.shape:
        ints = (
            st.lists(st.integers(-n, n - 1), max_size=6).map(lambda v: np.array(v, int))
            if n
            else st.just(np.empty(0, int))
        )
        mask = st.lists(st.booleans(), min_size=n, max_size=n).map(lambda v: np.array(v, bool))
        items.append(data.draw(st.one_of(one_slice(n), ints, mask)))
    whole = [np.arange(n)[i] for n, i in zip(expected.shape, items, strict=True)]
    np.testing.assert_array_equal(array.oindex[tuple(items)], expected[np.ix_(*whole)])
    chosen = np.random.default_rng(len(items)).random(expected.shape) < 0.3
    np.testing.assert_array_equal(array.vindex[chosen], expected[chosen])
    if 0 not in expected.shape:
        points = tuple(
            np.array(data.draw(st.lists(st.integers(-n, n - 1), min_size=6, max_size=6))).reshape(2, 3)
            for n in expected.shape
        )
        np.testing.assert_array_equal(array.vindex[points], expected[points])


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_blocks(data: st.DataObject) -> None:
    array, expected = data.draw(arrays().filter(lambda a: isinstance(a[0].meta.grid, RegularGrid) and a[1].size > 0))
    chunks = array.chunks
    index = tuple(data.draw(st.integers(0, -(-n // c) - 1)) for n, c in zip(expected.shape, chunks, strict=True))
    where = tuple(slice(i * c, (i + 1) * c) for i, c in zip(index, chunks, strict=True))
    np.testing.assert_array_equal(array.blocks[index], expected[where])


@pytest.mark.parametrize(
    "selection",
    [(None,), (0, None), (5,), (-6,), (0, 0, 0), (..., ...), (1.5,), ([1, 2],), (True,), (slice(0, 1, 0),), "x"],
)
def test_what_numpy_or_we_refuse(selection: Any) -> None:
    data = np.arange(20, dtype="i4").reshape(5, 4)
    node, file, _ = virtual(data, RegularGrid((2, 2)), [Encoding(ZLIB)], missing=0)
    array = open_node(node, opener(file))
    assert isinstance(array, Array)
    with pytest.raises(BadSelection):
        array[selection]
