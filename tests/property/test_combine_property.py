"""Any array cut into any tiles, each stored in its own way, is the same array again after combining."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.array_support import RAW, ZLIB, ReadInto, virtual

from byteatlas.array import open_node
from byteatlas.combining import CombineOptions, combine
from byteatlas.combining.chunks.slicing import parts
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.combining.select.ops import select_array
from byteatlas.combining.select.restructure import rechunk, transpose
from byteatlas.io.source import Source
from byteatlas.manifest.columns import PlacedManifest, assemble, positions
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.meta.model import ChunkGrid, CodecSpec, Encoding, RectilinearGrid, RegularGrid

BIG = (CodecSpec("bytes", {"endian": "big"}), CodecSpec("numcodecs.zlib", {"level": 6}))
CHAINS = (RAW, ZLIB, BIG)
DIMS = ("t", "y", "x")


class Files:
    """Files in memory by URL."""

    def __init__(self) -> None:
        self.data: dict[str, bytes] = {}

    def __call__(self, url: str) -> Source:
        return ReadInto(self.data[url], url)

    def read(self, array: VirtualArray) -> NDArray[Any]:
        opened: Any = open_node(array, self)
        values: NDArray[Any] = opened[...]
        return values


def cuts(draw: st.DrawFn, length: int) -> list[int]:
    inner = draw(st.lists(st.integers(1, max(1, length - 1)), max_size=2, unique=True)) if length > 1 else []
    return sorted({0, length, *inner})


def grid_for(draw: st.DrawFn, shape: tuple[int, ...]) -> ChunkGrid:
    if draw(st.booleans()):
        return RegularGrid(tuple(draw(st.integers(1, n + 1)) for n in shape))
    return RectilinearGrid(tuple(tuple(np.diff(cuts(draw, n)).tolist()) for n in shape))


@st.composite
def tiled(draw: st.DrawFn) -> tuple[list[VirtualGroup], Files, NDArray[Any], tuple[str, ...]]:
    ndim = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 7)) for _ in range(ndim))
    whole = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    dims = DIMS[:ndim]
    borders = [cuts(draw, n) for n in shape]
    concat = tuple(d for d, b in zip(dims, borders, strict=True) if len(b) > 2) or dims[:1]
    files, groups, expected = Files(), [], np.full(shape, np.nan, "f8")
    tiles = list(itertools.product(*(range(len(b) - 1) for b in borders)))
    kept = draw(st.lists(st.sampled_from(tiles), min_size=1, unique=True)) if draw(st.booleans()) else tiles
    for axis, b in enumerate(borders):  # every run of coordinates must be in some file
        for k in range(len(b) - 1):
            if not any(t[axis] == k for t in kept):
                kept = tiles
    uniform = draw(st.booleans())
    kind, chain = draw(st.sampled_from(["f4", "f8", "i2"])), draw(st.sampled_from(CHAINS))
    chunks = tuple(draw(st.integers(1, 3)) for _ in shape)
    for number, tile in enumerate(draw(st.permutations(kept))):
        where = tuple(slice(b[k], b[k + 1]) for b, k in zip(borders, tile, strict=True))
        if not uniform:
            kind, chain = draw(st.sampled_from(["f4", "f8", "i2"])), draw(st.sampled_from(CHAINS))
        part = whole[where].astype(kind)
        fill = 7 if uniform else draw(st.sampled_from([7, -1]))
        grid = RegularGrid(chunks) if uniform else grid_for(draw, part.shape)
        url = f"memory:{number}"
        array, data, reads = virtual(part, grid, [Encoding(chain)], seed=number, fill=fill, missing=0.2, url=url)
        files.data[url] = data
        expected[where] = reads
        meta = array.meta
        named = VirtualArray(type(meta)(**{**fields(meta), "dimension_names": dims}), array.manifest)
        arrays = {"v": named}
        for d, s in zip(dims, where, strict=True):
            arrays[d] = inline_array(np.arange(s.start, s.stop), (d,), {})
        groups.append(VirtualGroup(arrays=arrays))
    return groups, files, expected, concat


def fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(tiled())
def test_tiles_make_the_whole(case: tuple[list[VirtualGroup], Files, NDArray[Any], tuple[str, ...]]) -> None:
    groups, files, expected, concat = case
    both = combine(groups, CombineOptions(concat=concat, inline_uneven=0), read=files.read)
    root: Any = open_node(both, files)
    np.testing.assert_array_equal(root["v"][...].astype("f8"), expected)
    assert [root[d].shape[0] for d in concat] == [expected.shape[DIMS.index(d)] for d in concat]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_selections_and_transposes(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 6)) for _ in range(data.draw(st.integers(1, 3))))
    values = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    grid = data.draw(st.composite(grid_for)(shape))
    array, file, expected = virtual(values, grid, [Encoding(RAW), Encoding(BIG)], seed=3)
    files = Files()
    files.data["memory:file"] = file
    axis = data.draw(st.integers(0, len(shape) - 1))
    start = data.draw(st.integers(0, shape[axis]))
    stop = data.draw(st.integers(start, shape[axis]))
    part = select_array(array, axis, start, stop, read=files.read)
    np.testing.assert_array_equal(files.read(part), expected.take(range(start, stop), axis=axis))
    order = data.draw(st.permutations(range(len(shape))))
    np.testing.assert_array_equal(files.read(transpose(array, order)), expected.transpose(order))
    again = transpose(transpose(array, order), [order.index(i) for i in range(len(shape))])
    np.testing.assert_array_equal(files.read(again), expected)


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_parts_begin_anywhere(data: st.DataObject) -> None:
    """An array cut anywhere along an axis, each part by itself and in parts again, transposed or not."""
    shape = tuple(data.draw(st.integers(1, 8)) for _ in range(data.draw(st.integers(1, 3))))
    values = np.arange(np.prod(shape), dtype="i4").reshape(shape)
    grid = data.draw(st.composite(grid_for)(shape))
    kinds = data.draw(st.sampled_from([[Encoding(RAW)], [Encoding(ZLIB)], [Encoding(RAW), Encoding(BIG)]]))
    array, file, expected = virtual(values, grid, kinds, seed=5, missing=0.2)
    files = Files()
    files.data["memory:file"] = file
    if data.draw(st.booleans()):
        array, expected = transpose(array, range(len(shape))[::-1]), expected.transpose()
    axis = data.draw(st.integers(0, len(shape) - 1))
    length = expected.shape[axis]
    places = st.integers(0, length)
    pairs = [sorted(data.draw(st.tuples(places, places))) for _ in range(data.draw(st.integers(1, 4)))]
    spans = [(low, high) for low, high in pairs]
    for (start, stop), part in zip(spans, parts(array, axis, spans), strict=True):
        want = expected.take(range(start, stop), axis=axis)
        np.testing.assert_array_equal(files.read(part), want)
        other = data.draw(st.integers(0, len(shape) - 1))
        low, high = sorted(data.draw(st.tuples(*[st.integers(0, want.shape[other])] * 2)))
        again = select_array(part, other, low, high, read=files.read, cut=True)
        np.testing.assert_array_equal(files.read(again), want.take(range(low, high), axis=other))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_rechunking_uncompressed_data(data: st.DataObject) -> None:
    chunks = tuple(data.draw(st.sampled_from([1, 2, 4, 6])) for _ in range(2))
    counts = tuple(data.draw(st.integers(1, 3)) for _ in range(2))
    shape = tuple(c * n for c, n in zip(chunks, counts, strict=True))
    array, file, expected = virtual(
        np.arange(np.prod(shape), dtype="i2").reshape(shape), RegularGrid(chunks), [Encoding(RAW)], inline=0
    )
    files = Files()
    files.data["memory:file"] = file
    divisor = data.draw(st.sampled_from([d for d in (1, 2, 3) if chunks[0] % d == 0]))
    smaller = rechunk(array, (chunks[0] // divisor, chunks[1]))
    assert smaller.manifest.grid_shape == (counts[0] * divisor, counts[1])
    np.testing.assert_array_equal(files.read(smaller), expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=5), st.integers(1, 3), st.booleans())
def test_columns(counts: list[int], width: int, shared: bool) -> None:
    """Assembling rows in order and piece by piece gives the same rows; sources keep their meaning."""
    pieces, at = [], 0
    rng = np.random.default_rng(len(counts))
    for k, n in enumerate(counts):
        urls = tuple(SourceInfo(f"u{0 if shared else k}.{j}") for j in range(2))
        source = rng.integers(-1, 2, n * width).astype(np.int32)
        numbers = np.arange(n * width, dtype=np.uint64) + np.uint64(100 * k)
        pieces.append(PlacedManifest((at, 0), ChunkManifest((n, width), urls, source, numbers, numbers)))
        at += n
    whole = assemble((at, width), pieces)
    expected = [
        None if s == MISSING else (p.manifest.sources[s].url, int(o))
        for p in pieces
        for s, o in zip(p.manifest.source.tolist(), p.manifest.offset, strict=True)
    ]
    rows = zip(whole.source.tolist(), whole.offset, strict=True)
    assert [None if s == MISSING else (whole.sources[s].url, int(o)) for s, o in rows] == expected
    assert len({s.url for s in whole.sources}) == len(whole.sources)
    mirrored = assemble((at, width), pieces[::-1])
    rows = zip(mirrored.source.tolist(), mirrored.offset, strict=True)
    assert [None if s == MISSING else (mirrored.sources[s].url, int(o)) for s, o in rows] == expected


def test_positions() -> None:
    assert positions((3, 4), (1, 2), (2, 2)).tolist() == [6, 7, 10, 11]
