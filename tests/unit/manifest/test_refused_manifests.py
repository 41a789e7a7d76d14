"""Manifests of every kind refuse what does not fit them, with the place and the reason."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest
from tests.maps import array

from byteatlas.errors import BadRequest, CorruptChunk, InvalidMetadata, NotFound
from byteatlas.manifest.columns import PlacedManifest, assemble, follow_each_other, joined
from byteatlas.manifest.kinds.parameters import with_parameters
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.kinds.sparse import Collector, SourceTable
from byteatlas.manifest.kinds.stream import StreamedManifest
from byteatlas.manifest.model import INLINE, ChunkManifest, Rows, SourceInfo, VirtualGroup, reference_at
from byteatlas.manifest.ops.inline import deinline
from byteatlas.manifest.ops.split import split_along
from byteatlas.values import replace

FOUR = array((4,), (1,))
COLUMNS = FOUR.manifest.load()


@pytest.mark.parametrize(
    ("origins", "follow"),
    [
        ([(0, 0), (2, 0)], True),
        ([(2, 0), (0, 0)], False),
        ([(0, 0), (2, 1)], False),
        ([(0, 0)], False),
        ([(0, 0), (2, 0), (4, 0)], False),
    ],
)
def test_parts_that_follow_each_other(origins: list[tuple[int, ...]], follow: bool) -> None:
    part = array((2, 3), (1, 1)).manifest.load()
    parts = [PlacedManifest(origin, part) for origin in origins]
    assert follow_each_other((4, 3), parts) is follow
    if len(parts) == 2 and origins[1] != (2, 1):
        found = assemble((4, 3), parts).offset.reshape(4, 3)
        for (row, _), one in zip(origins, parts, strict=True):
            np.testing.assert_array_equal(found[row : row + 2], one.manifest.offset.reshape(2, 3))


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def test_columns_have_the_length_of_the_grid() -> None:
    with pytest.raises(BadRequest, match=r"a manifest column has shape \(4,\), the grid \(5,\)"):
        replace(COLUMNS, grid_shape=(5,))
    with pytest.raises(BadRequest, match="manifests of 4 chunks for a grid of 5"):
        joined([COLUMNS], 5)


@pytest.mark.parametrize("index", [(4,), (-1,), (0, 0), ()])
def test_a_chunk_outside_of_the_grid(index: tuple[int, ...]) -> None:
    with pytest.raises(NotFound) as refused:
        reference_at(COLUMNS, index)
    assert refused.value.what == f"chunk {index} is outside the grid (4,)"


def test_segments_know_their_chunks_only() -> None:
    two = SegmentedManifest((8,), [COLUMNS, COLUMNS])
    assert two.rows(numbers(7, 0)).offset.tolist() == [COLUMNS.offset[3], COLUMNS.offset[0]]
    for chunks in ((8,), (-1,), (0, 8)):
        with pytest.raises(NotFound, match=r"a chunk outside of the grid \(8,\)"):
            two.rows(numbers(*chunks))
    with pytest.raises(NotFound, match=r"a chunk outside of the grid \(8,\)"):
        two.inline(-1)


def collected(total: int, *chunks: int, inline: tuple[int, ...] = ()) -> Collector:
    found = Collector((total,), "m: x")
    n = len(chunks)
    found.add(numbers(*chunks), np.zeros(n, np.int32), np.arange(n, dtype=np.uint64), np.ones(n, np.uint64))
    for chunk in inline:
        found.add_inline(chunk, b"1")
    return found


@pytest.mark.parametrize("total", [10, 1 << 20])
def test_no_chunk_has_two_references(total: int) -> None:
    for twice in (collected(total, 3, 5, 3), collected(total, 3, 5, inline=(5,))):
        with pytest.raises(InvalidMetadata) as refused:
            twice.finish((SourceInfo("/a"),))
        assert (refused.value.where, refused.value.why.partition(" for")[0]) == ("m: x", "two references")
    with pytest.raises(InvalidMetadata, match="m: x: two references for chunk 5"):
        collected(total, inline=(5, 5))


@pytest.mark.parametrize("total", [10, 1 << 20])
def test_collected_rows_are_found_again(total: int) -> None:
    found = collected(total, 5, 3, inline=(7,)).finish((SourceInfo("/a"),))
    rows = found.rows(numbers(3, 4, 5, 7))
    assert rows.source.tolist() == [0, -1, 0, INLINE]
    assert rows.offset.tolist()[::2] == [1, 0]
    assert found.inline(7) == b"1"


def test_an_empty_collection_of_a_large_grid() -> None:
    found = Collector((1 << 20,), "m: x").finish(())
    assert found.rows(numbers(0, (1 << 20) - 1)).source.tolist() == [-1, -1]


def streamed(source: int) -> StreamedManifest:
    zero = np.zeros(1, np.uint64)
    return StreamedManifest((1,), iter([Rows(np.array([source], np.int32), zero, zero)]), SourceTable())


def test_streams_hold_no_bytes() -> None:
    with pytest.raises(BadRequest, match="inline chunks cannot be streamed"):
        streamed(INLINE).load()
    with pytest.raises(NotFound, match="chunk 0 is not inline"):
        streamed(-1).inline(0)


def test_parameters_go_with_one_encoding() -> None:
    encoded = replace(COLUMNS, encoding=np.zeros(4, np.uint16))
    with pytest.raises(BadRequest, match="parameter columns go with arrays of one encoding"):
        with_parameters(FOUR.meta, encoded, {})
    two = replace(FOUR.meta, encodings=FOUR.meta.encodings * 2, zarr_format=3)
    with pytest.raises(BadRequest, match="parameter columns go with arrays of one encoding"):
        with_parameters(two, COLUMNS, {})
    assert with_parameters(FOUR.meta, COLUMNS, {}).meta == FOUR.meta


def test_pieces_along_a_dimension() -> None:
    x, y = (array((n,), (1,), dimension_names=("t",)) for n in (4, 5))
    with pytest.raises(BadRequest, match=r"arrays differ in length along 't': \{'x': 4, 'y': 5\}"):
        next(split_along(VirtualGroup(arrays={"x": x, "y": y}), "t", 2))
    for every in (0, -1):
        with pytest.raises(BadRequest, match="a piece needs at least one element"):
            next(split_along(VirtualGroup(arrays={"x": x}), "t", every))
    found = list(split_along(VirtualGroup(arrays={"x": x}), "t", 3))
    assert [p.arrays["x"].meta.shape for p in found] == [(3,), (1,)]


def test_inline_chunks_whose_bytes_are_gone() -> None:
    zero = np.zeros(1, np.uint64)
    lost = ChunkManifest((1,), (), np.array([INLINE], np.int32), zero, zero)
    with pytest.raises(CorruptChunk) as refused:
        deinline(VirtualGroup(arrays={"x": replace(array((1,), (1,)), manifest=lost)}), BytesIO(), "/side.bin")
    assert (refused.value.why, refused.value.array) == ("inline, but its bytes are not in the map", "x")
