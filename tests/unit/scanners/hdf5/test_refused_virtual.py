"""Selections and mappings of virtual datasets: what is refused, why and where; and the limits of what is not."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.hdf5_parts import BASE, FORM, summed, u64
from tests.scanning import refusals, refuses

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.manifest.model import MISSING, ChunkManifest, SourceInfo, VirtualArray
from byteatlas.meta import dtypes
from byteatlas.meta.model import ArrayMeta, ChunkGrid, CodecSpec, Encoding, RectilinearGrid, RegularGrid
from byteatlas_scanners.hdf5.format.wire import Cursor
from byteatlas_scanners.hdf5.virtual import cells, mappings
from byteatlas_scanners.hdf5.virtual.cells import assemble
from byteatlas_scanners.hdf5.virtual.mappings import Box, Mapping, boxes, extent, parse_mappings
from byteatlas_scanners.hdf5.virtual.selection import Selection, Slab, Stretches, read_selection


def virtual(detail: str) -> Unsupported:
    return Unsupported("virtual-dataset", detail)


# --------------------------------------------------------------------------------------- selections


def u32(*values: int) -> bytes:
    return struct.pack(f"<{len(values)}I", *values)


def selected(data: bytes) -> Callable[[], Selection]:
    return lambda: read_selection(Cursor(FORM, data))


def slab3(*fields: int, flags: int = 1, width: int = 2, rank: int | None = None) -> bytes:
    """A hyperslab selection of version 3."""
    axes = len(fields) // 4 if rank is None else rank
    head = u32(2, 3) + bytes((flags, width)) + u32(axes)
    return head + b"".join(n.to_bytes(width, "little") for n in fields)


def listed(*blocks: int, rank: int = 1, count: int = 1, version: int = 1) -> bytes:
    """Blocks as (first, last) of each."""
    return u32(2, version, 0, 0, rank, count, *blocks)


EMPTY = "a hyperslab Slab(start=3, stride="


@refusals(
    (selected(u32(4, 1)), CorruptFile(8, "a selection of type 4")),
    (selected(u32(2, 2) + b"\0" + u32(0, 1)), CorruptFile(17, "an irregular selection in a version that has none")),
    (selected(u32(2, 4)), virtual("a selection of version 4")),
    (selected(u32(2, 0)), virtual("a selection of version 0")),
    (selected(slab3(rank=33)), CorruptFile(14, "a selection with impossible fields")),
    (selected(slab3(width=3)), CorruptFile(14, "a selection with impossible fields")),
    (selected(slab3(width=16)), CorruptFile(14, "a selection with impossible fields")),
    (selected(slab3(3, 0, 1, 1)), CorruptFile(22, EMPTY + "0, times=1, block=1)")),
    (selected(slab3(3, 1, 0, 1)), CorruptFile(22, EMPTY + "1, times=0, block=1)")),
    (selected(slab3(3, 1, 1, 0)), CorruptFile(22, EMPTY + "1, times=1, block=0)")),
    (selected(slab3(3, 2, 2, 3)), CorruptFile(22, EMPTY + "2, times=2, block=3)")),
    (selected(slab3(3, 2, 0xFFFF, 3)), CorruptFile(22, EMPTY + "2, times=None, block=3)")),
    (selected(slab3(3, 2, 2, rank=1)), CorruptFile(20, "a structure is cut off")),
    (selected(listed(rank=33)), virtual("a selection of 1 blocks in 33 dimensions")),
    (selected(listed(count=(1 << 16) + 1)), virtual("a selection of 65537 blocks in 1 dimensions")),
    (selected(listed(5, 4)), CorruptFile(32, "a selected block that ends before it begins")),
    (
        selected(listed(0, 5, 3, 4, rank=2)),
        CorruptFile(40, "a selected block that ends before it begins"),
    ),
    (selected(slab3(1, 9, 8, flags=0, rank=1)), CorruptFile(20, "a selected block that ends before it begins")),
    (selected(u32(1, 3)), virtual("a selection of points of version 3")),
    (selected(u32(1, 1, 0, 0, 33, 1)), virtual("a selection of 1 points in 33 dimensions")),
    (selected(u32(1, 1, 0, 0, 1, 65537)), virtual("a selection of 65537 points in 1 dimensions")),
    (selected(u32(1, 2) + b"\4" + u32(1, 65537)), virtual("a selection of 65537 points in 1 dimensions")),
)
def test_selections(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (u32(0, 1, 0, 0), ()),
        (u32(3, 1, 0, 0), None),
        (slab3(3, 2, 1, 3), ((Slab(3, 2, 1, 3),),)),
        (slab3(3, 3, 2, 3), ((Slab(3, 3, 2, 3),),)),
        (slab3(3, 1, 1, 0xFFFF), ((Slab(3, 1, 1, None),),)),
        (slab3(3, 1, 1, 0xFFFFFFFF, width=4), ((Slab(3, 1, 1, None),),)),
        (u32(2, 2) + b"\1" + u32(0, 1) + u64(3, 2, 2**64 - 1, 1), ((Slab(3, 2, None, 1),),)),
        (slab3(*[0, 1, 1, 1] * 32), ((Slab(0, 1, 1, 1),) * 32,)),
        (listed(5, 5), ((Slab(5, 1, 1, 1),),)),
        (listed(0, 1, 4, 5, count=2), ((Slab(0, 4, 2, 2),),)),
        (listed(0, 1, 4, 6, count=2), ((Stretches(((0, 2), (4, 3))),),)),
        (listed(0, 1, 1, 2, count=2), ((Slab(0, 1, 1, 2),), (Slab(1, 1, 1, 2),))),
        (
            listed(0, 0, 0, 0, 1, 1, 1, 1, rank=2, count=2),
            ((Slab(0, 1, 1, 1), Slab(0, 1, 1, 1)), (Slab(1, 1, 1, 1), Slab(1, 1, 1, 1))),
        ),
        (u32(1, 1, 0, 0, 1, 2, 7, 3), ((Slab(7, 1, 1, 1),), (Slab(3, 1, 1, 1),))),
        (u32(1, 2) + b"\2" + u32(1) + b"\1\0" + b"\7\0", ((Slab(7, 1, 1, 1),),)),
    ],
)
def test_selections_that_are_sound(data: bytes, expected: Selection) -> None:
    cursor = Cursor(FORM, data + b"rest")
    assert read_selection(cursor) == expected
    assert cursor.at == len(data)


def test_what_slabs_select() -> None:
    assert Slab(3, 4, 2, 2).within(7).tolist() == [3, 4]
    assert Slab(3, 4, 2, 2).within(8).tolist() == [3, 4, 7]
    assert Slab(3, 4, None, 2).within(3).tolist() == []
    assert Slab(3, 4, None, 2).within(8).tolist() == [3, 4, 7]
    assert Slab(3, 1, 1, None).within(2).tolist() == []
    assert (Slab(3, 4, 2, 2).end, Slab(3, 4, 2, 2).size, Slab(3, 4, None, 2).end) == (9, 4, None)
    runs = Stretches(((1, 2), (5, 1)))
    assert (runs.end, runs.size, runs.unlimited) == (6, 3, False)
    assert (runs.within(5).tolist(), runs.first(2).tolist()) == ([1, 2], [1, 2])


# --------------------------------------------------------------------------------------- lists of mappings


ALL = u32(3, 1, 0, 0)


def entry(*names: bytes, flags: int | None = None) -> bytes:
    return (b"" if flags is None else bytes((flags,))) + b"".join(names) + ALL + ALL


def listing(*entries: bytes, version: int = 0, count: int | None = None) -> bytes:
    number = len(entries) if count is None else count
    return summed(bytes((version,)) + u64(number) + b"".join(entries))


def parsed(block: bytes) -> Callable[[], list[Mapping]]:
    return lambda: parse_mappings(FORM, block)


@refusals(
    (parsed(listing()[:-1] + b"?"), CorruptFile(BASE, "wrong checksum of a list of virtual mappings")),
    (parsed(listing(version=2)), virtual("a list of mappings of version 2")),
    (parsed(listing(count=(1 << 17) + 1)), virtual("131073 mappings")),
    (parsed(listing(entry(flags=8), version=1)), virtual("a mapping with flags 0x8")),
    (parsed(listing(entry(b"a.h5\0", b"/d\0"), count=2)), CorruptFile(49, "a name without an end")),
    (parsed(listing(count=1)), CorruptFile(9, "a name without an end")),
)
def test_lists_of_mappings(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_lists_of_mappings_that_are_sound() -> None:
    a, b = Mapping("a.h5", "/d", None, None), Mapping(".", "/e", None, None)
    assert parsed(listing(entry(b"a.h5\0", b"/d\0"), entry(b".\0", b"/e\0")))() == [a, b]
    again = entry(u64(0), u64(1), flags=3)
    first, second = entry(b"a.h5\0", b"/d\0", flags=0), entry(b"/e\0", flags=4)
    assert parsed(listing(first, second, again, version=1))() == [a, b, Mapping("a.h5", "/e", None, None)]
    with pytest.raises(IndexError):  # of what is not there yet; who reads the list says that it is damaged
        parsed(listing(entry(u64(1), b"/d\0", flags=1), version=1))()


# --------------------------------------------------------------------------------------- mappings to boxes


INFO = SourceInfo("memory://source", 1 << 20)
BYTES = (CodecSpec("bytes", {"endian": "little"}),)
PACKED = (*BYTES, CodecSpec("numcodecs.zlib", {"level": 1}))


def array(
    shape: tuple[int, ...], chunk: tuple[int, ...] | None = None, *, kind: str = "<i4", grid: ChunkGrid | None = None,
    codecs: tuple[CodecSpec, ...] = BYTES, missing: bool = False, fill: Any = 0,
) -> VirtualArray:  # fmt: skip
    """An array whose chunks lie one after the other, the first missing if so asked."""
    chunk = chunk or shape
    counts = tuple(-(-n // c) for n, c in zip(shape, chunk, strict=True))
    total, nbytes = math.prod(counts), math.prod(chunk) * np.dtype(kind).itemsize
    source = np.zeros(total, np.int32)
    source[:1] = MISSING if missing else 0
    offset = np.arange(total, dtype=np.uint64) * np.uint64(nbytes)
    manifest = ChunkManifest(counts, (INFO,), source, offset, np.full(total, nbytes, np.uint64))
    data_type = dtypes.from_numpy(np.dtype(kind))
    meta = ArrayMeta(shape, data_type, grid or RegularGrid(chunk), (Encoding(codecs),), np.dtype(kind).type(fill))
    return VirtualArray(meta, manifest)


def finder(**arrays: VirtualArray) -> Callable[[str, str], VirtualArray | None]:
    return lambda file, dataset: arrays.get(dataset)


def mapped(
    source: Selection, target: Selection, shape: tuple[int, ...], of: VirtualArray | None = None, name: str = "d"
) -> Callable[[], list[Box]]:
    """One mapping as boxes."""
    found = array((10,)) if of is None else of
    return lambda: boxes([Mapping("a.h5", name, source, target)], shape, finder(d=found, d0=found, d1=found))


def run(start: int, length: int) -> tuple[Slab, ...]:
    return (Slab(start, 1, 1, length),)


GROWS: Selection = ((Slab(0, 2, None, 2),),)
DIFFERENT = "a mapping between selections of different shapes"


@refusals(
    (
        lambda: extent([Mapping("a", "d%b", None, ((Slab(0, 1, 1, None),),))], (4,), finder()),
        virtual("numbered sources without a block size"),
    ),
    (
        lambda: extent([Mapping("a", "d", None, GROWS)], (4,), finder(d=array((4,)))),
        virtual("an unlimited mapping of a limited source"),
    ),
    (
        lambda: extent([Mapping("a", "d", (run(0, 4),), GROWS)], (4,), finder(d=array((4,)))),
        virtual("an unlimited mapping of a limited source"),
    ),
    (mapped(None, (run(0, 10),), (10,), name="d%b"), virtual("numbered sources of a limited selection")),
    (mapped(None, None, (10,), name="d%b"), virtual("numbered sources of a limited selection")),
    (
        mapped(None, (run(0, 10),), (10, 1)),
        CorruptFile(0, "a selection of 1 axes in a dataset of 2"),
    ),
    (mapped(((*run(0, 10), *run(0, 1)),), None, (10,)), CorruptFile(0, "a selection of 2 axes in a dataset of 1")),
    (mapped((run(0, 9),), (run(2, 9),), (10,)), virtual("a selection outside of its dataset")),
    (mapped((run(2, 9),), (run(0, 9),), (10,)), virtual("a selection outside of its dataset")),
    (mapped((run(0, 2), run(4, 2)), (run(0, 4),), (10,)), virtual("selections of different kinds")),
    (mapped((run(4, 1), run(0, 2)), (run(0, 1), run(1, 2)), (10,)), virtual("irregular selections")),
    (mapped((run(0, 9),), (run(0, 8),), (10,)), virtual(DIFFERENT)),
    (
        mapped(None, None, (5, 2), array((2, 5))),
        virtual(DIFFERENT),
    ),
)
def test_mappings(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_mappings_that_are_sound() -> None:
    (box,) = mapped((run(2, 8),), (run(0, 8),), (8,))()
    assert (box.at, box.shape, box.origin, box.axes) == ((0,), (8,), (2,), (0,))
    found = mapped((run(0, 2), run(4, 2)), (run(1, 2), run(5, 2)), (10,))()
    assert [(b.at, b.shape, b.origin) for b in found] == [((1,), (2,), (0,)), ((5,), (2,), (4,))]
    assert mapped((), (), (10,))() == []
    (thin,) = mapped(None, ((*run(3, 1), *run(0, 10)),), (5, 10))()
    assert (thin.at, thin.shape, thin.axes) == ((3, 0), (1, 10), (None, 0))
    numbered = mapped(None, GROWS, (4,), array((2,)), "d%b")()
    assert [(b.at, b.shape) for b in numbered] == [((0,), (2,)), ((2,), (2,))]
    assert extent([Mapping("a", "d%b", None, GROWS)], (9,), finder(d0=array((2,)), d1=array((2,)))) == (4,)
    assert extent([Mapping("a", "d", GROWS, GROWS)], (9,), finder(d=array((7,)))) == (7,)
    assert extent([Mapping("a", "d", GROWS, GROWS)], (9,), finder()) == (0,)
    both = [Mapping("a", "d", GROWS, GROWS), Mapping("a", "e", None, (run(9, 3),))]
    assert extent(both, (9,), finder(d=array((7,)))) == (12,)


@pytest.mark.parametrize("limit", ["MOST_BOXES", "MOST_BLOCKS"])
def test_mappings_are_bounded(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits, made small: just within them, and one beyond."""
    stripes: Selection = ((Slab(0, 2, 4, 1),),)
    stored = array((10,))
    every: list[Mapping] = [Mapping("a", "d", stripes, stripes)]
    endless = [Mapping("a", "d%b", None, GROWS)]
    find = finder(**{f"d{n}": array((2,)) for n in range(4)}, d=stored)
    monkeypatch.setattr(mappings, limit, 4)
    assert len(boxes(every, (10,), find)) == 4
    assert len(boxes(endless, (10,), find)) == 4
    assert extent(endless, (10,), find) == (8,)
    monkeypatch.setattr(mappings, limit, 2 if limit == "MOST_BLOCKS" else 3)
    if limit == "MOST_BOXES":
        refuses(virtual("too many pieces"), lambda: boxes(every, (10,), find))
        two = [Mapping("a", "d", (run(n, 1), run(n + 2, 1)), (run(n, 1), run(n + 2, 1))) for n in (0, 1)]
        refuses(virtual("too many pieces"), lambda: boxes(two, (10,), find))
    else:
        refuses(virtual("more than 2 numbered sources"), lambda: boxes(endless, (10,), find))
        refuses(virtual("more than 2 numbered sources"), lambda: extent(endless, (10,), find))


# --------------------------------------------------------------------------------------- boxes to cells


def meta(shape: tuple[int, ...], kind: str = "<i4", fill: Any = 0) -> ArrayMeta:
    data_type = dtypes.from_numpy(np.dtype(kind))
    return ArrayMeta(shape, data_type, RegularGrid(shape), (Encoding(BYTES),), np.dtype(kind).type(fill))


def whole(source: VirtualArray, at: tuple[int, ...], axes: tuple[int | None, ...] | None = None) -> Box:
    """All of a source, at a place."""
    return Box(source, at, source.meta.shape, (0,) * len(at), axes or tuple(range(len(at))))


def built(target: ArrayMeta, *pieces: Box) -> Callable[[], VirtualArray]:
    return lambda: assemble(target, pieces, 4)


CUBE = array((2, 10), (2, 5), codecs=PACKED)


@refusals(
    (built(meta(())), virtual("a virtual dataset without dimensions")),
    (
        built(meta((10,)), whole(array((10,), kind="<f4"), (0,))),
        virtual("a source of another data type (float32 as int32)"),
    ),
    (
        built(meta((10,)), whole(array((10,), grid=RectilinearGrid(((4, 6),))), (0,))),
        virtual("a source with an irregular chunk grid"),
    ),
    (
        built(meta((10,)), whole(array((6,)), (0,)), whole(array((6,)), (4,))),
        virtual("pieces that overlap"),
    ),
    (
        built(meta((10,)), whole(array((10,), (5,), missing=True, fill=1), (0,))),
        virtual("a source with missing chunks and a fill value"),
    ),
    (
        built(meta((10,)), Box(CUBE, (0,), (10,), (1, 0), (1,))),
        virtual("pieces of sources with more dimensions, across their chunks"),
    ),
)
def test_cells(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_cells_that_are_sound() -> None:
    same = built(meta((10,), fill=1), whole(array((10,), (5,), missing=True, fill=1), (0,)))()
    assert same.manifest.load().source.tolist() == [MISSING, 0]
    row = built(meta((10,)), Box(array((2, 10), (2, 5)), (0,), (10,), (1, 0), (1,)))()
    found = row.manifest.load()
    assert (found.offset.tolist(), found.length.tolist()) == ([20, 60], [20, 20])


@pytest.mark.parametrize(
    ("limit", "most", "detail"),
    [
        ("MOST_CELLS", 7, "pieces that cut the dataset into too many cells"),
        ("MOST_CELLS", 8, None),
        ("MOST_ENCODINGS", 1, "pieces stored in more than 1 ways"),
        ("MOST_ENCODINGS", 2, None),
    ],
)
def test_cells_are_bounded(limit: str, most: int, detail: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, limit, most)
    act = built(meta((10,)), whole(array((5,)), (0,)), whole(array((5,), codecs=PACKED), (5,)))
    if detail is None:
        assert act().manifest.grid_shape == (2,)
    else:
        refuses(virtual(detail), act)


def test_cells_of_all_axes_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few borders along each axis may be many cells together."""
    pieces = [whole(array((2, 2)), (2 * n, 2 * n)) for n in range(4)]
    assert built(meta((8, 8)), *pieces)().manifest.grid_shape == (4, 4)
    monkeypatch.setattr(cells, "MOST_CELLS", 15)
    refuses(virtual("pieces that cut the dataset into 16 cells"), built(meta((8, 8)), *pieces))
