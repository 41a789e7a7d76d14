"""Maps that are combined from disk, part by part, give the same references as maps that are all in memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import byteatlas as ba
from byteatlas.combining.chunks.small_arrays import inline_array
from byteatlas.errors import ByteatlasError, FetchFailed
from byteatlas.manifest.kinds.recent import RecentlyRead
from byteatlas.manifest.kinds.segments import SegmentedManifest
from byteatlas.manifest.model import INLINE, MISSING, WHOLE, ChunkManifest, SourceInfo, VirtualArray, VirtualGroup
from byteatlas.manifest.options import MapWriteOptions
from byteatlas.manifest.references import write_references
from byteatlas.meta.dtypes import from_numpy
from byteatlas.meta.model import ArrayMeta, CodecSpec, Encoding, RegularGrid
from byteatlas.values import replace

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def array(seed: int, steps: int, width: int, names: Sequence[str], plain: bool) -> VirtualArray:
    """Chunks at random places of these files; some missing, in the map, or whole files, unless ``plain``."""
    rng = np.random.default_rng(seed)
    n = steps * width
    which = rng.integers(0, len(names), n).astype(np.int32)
    offset, length = (rng.integers(1, 10**6, n).astype(np.uint64) for _ in range(2))
    inlined: dict[int, bytes] = {}
    if not plain:
        kind = rng.integers(0, 8, n)
        which[kind == 0], which[kind == 1] = MISSING, INLINE
        length[kind == 2] = WHOLE
        gone = kind < 3
        offset[gone] = 0
        length[kind < 2] = 0
        inlined = {int(i): rng.bytes(4) for i in np.flatnonzero(kind == 1)}
    sources = tuple(SourceInfo(f"/data/{name}.nc", 10**7, f"stamp {name}") for name in names)
    meta = ArrayMeta(
        (steps, width),
        from_numpy(np.dtype("f4")),
        RegularGrid((1, 1)),
        (Encoding((CodecSpec("bytes", {"endian": "little"}),)),),
        np.float32(0),
        ("time", "x"),
    )
    return VirtualArray(meta, ChunkManifest((steps, width), sources, which, offset, length, None, inlined))


@st.composite
def groups(draw: st.DrawFn) -> list[VirtualGroup]:
    """Groups along time; neighbours may share files."""
    width, at, result = draw(st.integers(1, 5)), 0, []
    for number in range(draw(st.integers(1, 6))):
        steps = draw(st.integers(1, 6))
        names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True))
        arrays = {
            name: array(100 * number + seed, steps, width, names, draw(st.booleans())) for seed, name in enumerate("uv")
        }
        arrays["time"] = inline_array(np.arange(at, at + steps) + 0.0, ("time",), {"units": "days since 2000-01-01"})
        result.append(VirtualGroup(arrays=arrays))
        at += steps
    return result


def in_memory(node: VirtualGroup) -> VirtualGroup:
    return replace(node, arrays={p: replace(a, manifest=a.manifest.load()) for p, a in node.arrays.items()})


def files(folder: Path) -> dict[str, Any]:
    """What the files of a map hold. (The order of a column's dictionary is the order in which files were met.)"""
    return {str(p.relative_to(folder)): held(p) for p in folder.rglob("*") if p.is_file()}


def held(path: Path) -> Any:
    if path.suffix != ".parq":
        return path.read_bytes()
    with pq.ParquetFile(path) as file:
        return file.read(use_threads=False).to_pydict()


def maps_on_disk(inputs: Sequence[VirtualGroup], folder: Path, suffix: str, record_size: int = 7) -> list[str]:
    names = [str(folder / f"{i}{suffix}") for i in range(len(inputs))]
    for group, name in zip(inputs, names, strict=True):
        write_references(group, name, options=MapWriteOptions(record_size=record_size))
    return names


@QUICK
@given(inputs=groups(), size=st.integers(1, 12), rows=st.integers(1, 12), shuffled=st.randoms())
def test_parquet(
    tmp_path_factory: pytest.TempPathFactory, inputs: list[VirtualGroup], size: int, rows: int, shuffled: Any
) -> None:
    folder = tmp_path_factory.mktemp("streamed")
    names = maps_on_disk(inputs, folder, ".parquet", size)
    shuffled.shuffle(names)
    options = MapWriteOptions(record_size=rows)
    ba.write(ba.combine(names, "time"), folder / "streamed.parquet", options=options)
    loaded = [in_memory(ba.load(name)) for name in names]  # type: ignore[arg-type]
    ba.write(ba.combine(loaded, "time"), folder / "memory.parquet", options=options)
    assert files(folder / "streamed.parquet") == files(folder / "memory.parquet")


@QUICK
@given(inputs=groups(), shuffled=st.randoms())
def test_small_json(tmp_path_factory: pytest.TempPathFactory, inputs: list[VirtualGroup], shuffled: Any) -> None:
    folder = tmp_path_factory.mktemp("streamed")
    names = maps_on_disk(inputs, folder, ".json")
    shuffled.shuffle(names)
    together, singly = dict[str, Any](), dict[str, Any]()
    ba.write(ba.combine(names, "time"), together)
    ba.write(ba.combine([in_memory(ba.load(name)) for name in names], "time"), singly)  # type: ignore[arg-type]
    assert together == singly


def test_part_files_made_in_threads(tmp_path: Path) -> None:
    """Part files of a size that threads are worth, which do not begin where those of the inputs do."""
    inputs = []
    for i in range(3):
        time = inline_array(np.arange(40.0) + 40 * i, ("time",), {"units": "days since 2000-01-01"})
        arrays = {"u": array(i, 40, 1000, ["a", f"b{i}"], plain=i != 1), "time": time}
        inputs.append(VirtualGroup(arrays=arrays))
    names = maps_on_disk(inputs, tmp_path, ".parquet", 15_000)
    options = MapWriteOptions(record_size=33_000)
    ba.write(ba.combine(names, "time"), tmp_path / "streamed.parquet", options=options)
    ba.write(ba.combine(inputs, "time"), tmp_path / "memory.parquet", options=options)
    assert files(tmp_path / "streamed.parquet") == files(tmp_path / "memory.parquet")


def test_a_lost_part_leaves_no_map(tmp_path: Path) -> None:
    """Rows of later parts are read while earlier ones are encoded; what fails there fails the whole write."""
    inputs = [VirtualGroup(arrays={"u": array(i, 40, 1000, ["a"], plain=True)}) for i in range(3)]
    names = maps_on_disk(inputs, tmp_path, ".parquet", 40_000)
    found = ba.combine(names, "time")
    (tmp_path / "2.parquet" / "u" / "refs.0.parq").unlink()
    with pytest.raises(FetchFailed, match=r"refs\.0\.parq"):
        ba.write(found, tmp_path / "all.parquet", options=MapWriteOptions(record_size=40_000))
    assert not (tmp_path / "all.parquet").exists()


class Kept:
    """A manifest that says what it keeps, and counts how often it was told to forget."""

    def __init__(self, inner: ChunkManifest) -> None:
        self.inner, self.held, self.forgotten = inner, 0, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def rows(self, chunks: Any) -> Any:
        self.held = 100
        return self.inner.rows(chunks)

    def load(self) -> ChunkManifest:
        self.held = 100
        return self.inner

    def kept(self) -> int:
        return self.held

    def forget(self) -> None:
        self.held, self.forgotten = 0, self.forgotten + 1


def test_what_was_read_longest_ago_is_forgotten() -> None:
    parts: list[Any] = [Kept(array(i, 2, 3, ["a"], plain=True).manifest.load()) for i in range(5)]
    recent = RecentlyRead(limit=250)
    both = [SegmentedManifest((10, 3), parts, recent), SegmentedManifest((4, 3), parts[:2], recent)]
    for chunk in (0, 6, 12, 13, 0):
        both[0].rows(np.array([chunk]))
    assert [p.forgotten for p in parts] == [1, 1, 0, 0, 0]
    both[1].rows(np.array([6]))
    assert [p.held for p in parts] == [100, 100, 0, 0, 0]
    whole = both[0].load()
    assert sum(p.held for p in parts) == 200
    np.testing.assert_array_equal(whole.offset, both[0].rows(np.arange(30)).offset)


def test_maps_that_differ_in_little(tmp_path: Path) -> None:
    """Each of these has the keys of the one before, or its metadata, or nearly; none is read as another one."""
    inputs = [VirtualGroup(arrays={"u": array(i, 4, 3, ["a"], plain=True)}) for i in range(4)]
    names = maps_on_disk(inputs, tmp_path, ".json")
    texts = [json.loads(Path(name).read_text()) for name in names]
    texts[1]["refs"] = dict(reversed(texts[1]["refs"].items()))
    texts[2]["refs"]["u/1.1"] = "abcd"
    texts[3]["refs"]["u/1.1"] = ["/data/other.nc"]
    for name, text in zip(names, texts, strict=True):
        Path(name).write_text(json.dumps(text))
    together, singly = dict[str, Any](), dict[str, Any]()
    ba.write(ba.combine(names, "time"), together)
    ba.write(ba.combine([ba.load(name) for name in names], "time"), singly)  # type: ignore[misc]
    assert together == singly
    assert together["refs"]["u/9.1"] == "abcd"
    assert together["refs"]["u/13.1"] == ["/data/other.nc"]


def test_a_broken_reference_is_told_as_before(tmp_path: Path) -> None:
    inputs = [VirtualGroup(arrays={"u": array(i, 4, 3, ["a"], plain=True)}) for i in range(2)]
    names = maps_on_disk(inputs, tmp_path, ".json")
    text = json.loads(Path(names[1]).read_text())
    text["refs"]["u/1.1"] = [1, 2, 3]
    Path(names[1]).write_text(json.dumps(text))
    told = []
    for chosen in (names, [ba.load(name) for name in names]):
        with pytest.raises(ByteatlasError) as error:
            ba.write(ba.combine(chosen, "time"), {})  # type: ignore[arg-type]
        told.append(str(error.value))
    assert told[0] == told[1]
