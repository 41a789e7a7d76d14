"""Every kind of manifest: rows, inline bytes and all columns at once say the same, and the table names every kind."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas
from byteatlas.manifest import facts, kinds
from byteatlas.manifest.kinds.encoded import EncodedManifest
from byteatlas.manifest.kinds.renamed import RenamedManifest
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.kinds.sparse import SourceTable, SparseManifest
from byteatlas.manifest.kinds.stream import StreamedManifest
from byteatlas.manifest.kinds.strided import Strided
from byteatlas.manifest.kinds.window import WindowManifest, window
from byteatlas.manifest.model import INLINE, MISSING, ChunkManifest, Manifest, Rows, SourceInfo, VirtualArray
from byteatlas.manifest.ops.common import blocks
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, Encoding, RegularGrid

ROOT = Path(byteatlas.__file__).parent
GRID = (3, 2, 4)
N = 24


def dense() -> ChunkManifest:
    rng = np.random.default_rng(3)
    source = rng.integers(-2, 2, N).astype(np.int32)
    inlined = {int(i): b"%d" % i for i in np.flatnonzero(source == INLINE)}
    offset, length = (np.where(source < 0, 0, rng.integers(1, 99, N)).astype(np.uint64) for _ in range(2))
    sources = (SourceInfo("/a", 9), SourceInfo("/b", 9, "stamp"))
    return ChunkManifest(GRID, sources, source, offset, length, rng.integers(0, 3, N).astype(np.uint16), inlined)


def sparse() -> SparseManifest:
    m = replace(dense(), encoding=None)
    there = np.flatnonzero(m.source != MISSING)
    return SparseManifest(GRID, m.sources, there, m.source[there], m.offset[there], m.length[there], m.inlined)


def segments() -> SegmentedManifest:
    m = dense()
    return SegmentedManifest(GRID, [window(m, 0, 0, 1), WindowManifest(m, 0, 1, 2)])


MAKERS: dict[str, Callable[[], Manifest]] = {
    "ChunkManifest": dense,
    "Strided": lambda: Strided(GRID, SourceInfo("/a"), 7, (100, 30, 5), 5),
    "SparseManifest": sparse,
    "SegmentedManifest": segments,
    "WindowManifest": lambda: WindowManifest(dense(), 1, 1, 1),
    "RenamedManifest": lambda: RenamedManifest(dense(), lambda s: replace(s, url="x" + s.url)),
    "EncodedManifest": lambda: EncodedManifest(sparse(), np.arange(N).astype(np.uint16)),
}


def looked_up(m: Manifest, chunk: int) -> tuple[Any, ...]:
    """Everything that a manifest says of one chunk."""
    row = m.rows(np.array([chunk], np.int64))
    encoding = 0 if row.encoding is None else int(row.encoding[0])
    where = int(row.source[0])
    if where == INLINE:
        return "inline", m.inline(chunk), encoding
    if where == MISSING:
        return ("missing",)
    return m.sources[where], int(row.offset[0]), int(row.length[0]), encoding


def everything(m: Manifest) -> list[tuple[Any, ...]]:
    return [looked_up(m, i) for i in range(int(np.prod(m.grid_shape)))]


@pytest.mark.parametrize("kind", MAKERS)
def test_one_chunk_some_chunks_and_all_chunks(kind: str) -> None:
    one_by_one = everything(MAKERS[kind]())
    loaded = MAKERS[kind]().load()
    assert isinstance(loaded, ChunkManifest)
    assert everything(loaded) == one_by_one
    assert loaded.grid_shape == MAKERS[kind]().grid_shape
    some = np.array([5, 0, 7, 7, 3], np.int64)
    rows = MAKERS[kind]().rows(some)
    assert [int(s) for s in rows.source >= 0] == [one_by_one[i][0] not in ("inline", "missing") for i in some]
    assert len(MAKERS[kind]().rows(np.empty(0, np.int64)).source) == 0


@pytest.mark.parametrize("block", [1, 5, 1000])
@pytest.mark.parametrize("kind", MAKERS)
def test_facts_about_every_kind(kind: str, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One walk over blocks of rows gives what looking up every chunk gives."""
    monkeypatch.setattr(facts, "blocks", partial(blocks, size=block))
    manifest = MAKERS[kind]()
    cells = everything(manifest)
    in_files = [c for c in cells if c[0] not in ("inline", "missing")]
    sizes = [c[2] for c in in_files] + [len(c[1]) for c in cells if c[0] == "inline"]
    found = facts.chunk_facts(manifest)
    assert (found.chunks, found.missing) == (len(cells), cells.count(("missing",)))
    assert (found.present, found.inline, found.whole) == (len(sizes), len(sizes) - len(in_files), 0)
    assert (found.stored, found.smallest, found.largest) == (sum(sizes), min(sizes), max(sizes))
    assert found.histogram.tolist() == [sum(s.bit_length() - 1 == k for s in sizes) for k in range(65)]
    for one in found.sources:
        own = [(c[1], c[2]) for c in in_files if c[0] == one.info]
        assert (one.chunks, one.bytes) == (len(own), sum(n for _, n in own))
        assert (one.begin, one.end) == (min(a for a, _ in own), max(a + n for a, n in own))
    assert sum(one.chunks for one in found.sources) == len(in_files)
    infos = {c[0].url: c[0] for c in in_files}
    meta = ArrayMeta((1,), from_numpy(np.dtype("i1")), RegularGrid((1,)), (Encoding(()),))
    assert facts.sources_of(VirtualArray(meta, manifest)) == infos


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_windows_of_every_kind(kind: str, axis: int) -> None:
    whole = MAKERS[kind]()
    cells = np.empty(whole.grid_shape, object)
    cells.reshape(-1)[:] = everything(whole)
    for first in range(whole.grid_shape[axis] + 1):
        for last in range(first, whole.grid_shape[axis] + 1):
            part = window(whole, axis, first, last)
            expected = cells[(slice(None),) * axis + (slice(first, last),)]
            assert part.grid_shape == expected.shape
            assert everything(part) == everything(part.load()) == list(expected.reshape(-1))


def test_streams_are_read_once() -> None:
    table = SourceTable()
    table.number("/a")
    ones = np.ones(2, np.uint64)
    blocks = [Rows(np.zeros(2, np.int32), ones * np.uint64(i), ones) for i in range(3)]
    assert StreamedManifest((6,), iter(blocks), table).load().offset.tolist() == [0, 0, 1, 1, 2, 2]


def test_the_table_names_every_kind() -> None:
    """A class that has rows, inline bytes and columns is a kind of manifest."""
    found = set()
    for path in [*ROOT.rglob("*.py")]:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
                if {"rows", "inline", "load", "sources"} <= methods | {"sources"} and node.name != "Manifest":
                    found.add(node.name)
    assert kinds.__doc__ is not None
    assert found == set(MAKERS) | {"StreamedManifest", "LazyJson", "LazyParquet", "IcechunkManifest", "KeyManifest"}
    assert all(f".{name}`" in kinds.__doc__ for name in found)
