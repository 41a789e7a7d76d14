"""Appending to a map: only the tail is written, twice is once, reprocessed files replace older ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas.errors import BadRequest, Conflict
from byteatlas.manifest.options import MapWriteOptions

h5py = pytest.importorskip("h5py")


def make(path: Path, start: int, count: int = 4, **more: Any) -> str:
    """One file of ``count`` steps from ``start`` on; ``seed`` changes its values."""
    with h5py.File(path, "w") as f:
        f["time"] = np.arange(start, start + count, dtype="i4")
        f["time"].attrs["units"] = "days since 2000-01-01"
        f["x"] = np.arange(3.0)
        f["time"].make_scale("time")
        f["x"].make_scale("x")
        values = (
            np.arange(start, start + count, dtype="f4")[:, None] + np.arange(3, dtype="f4") / 8 + more.get("seed", 0)
        )
        v = f.create_dataset("v", data=values, chunks=more.get("chunks", (1, 3)), compression="gzip")
        w = f.create_dataset("w", data=values[:, 0] * 2, chunks=(2,))
        v.dims[0].attach_scale(f["time"])
        v.dims[1].attach_scale(f["x"])
        w.dims[0].attach_scale(f["time"])
    return str(path)


def values(target: Any) -> tuple[list[int], list[float], list[float]]:
    root: Any = ba.open(str(target))
    return root["time"][...].tolist(), root["v"][:, 0].tolist(), root["w"][...].tolist()


@pytest.fixture(params=["map.json", "map.parquet"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    first = [make(tmp_path / f"{k}.h5", 4 * k) for k in range(3)]
    path: Path = tmp_path / request.param
    ba.write(ba.combine(first, concat="time"), path, options=MapWriteOptions(record_size=5))
    return path


def test_new_files_follow(tmp_path: Path, target: Path) -> None:
    new = [make(tmp_path / f"{k}.h5", 4 * k) for k in (4, 3)]
    done = ba.append(target, new, concat="time")
    assert (len(done.added), done.skipped, done.replaced) == (2, (), ())
    assert values(target) == (list(range(20)), list(range(20)), [2 * n for n in range(20)])


def test_twice_is_once(tmp_path: Path, target: Path) -> None:
    new = make(tmp_path / "3.h5", 12)
    ba.append(target, [new], concat="time")
    before = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} or target.read_bytes()
    done = ba.append(target, [new, str(tmp_path / "1.h5")], concat="time")
    assert done.added == ()
    assert len(done.skipped) == 2
    after = {p: p.read_bytes() for p in target.rglob("*") if p.is_file()} or target.read_bytes()
    assert before == after


def test_reprocessed_files(tmp_path: Path, target: Path) -> None:
    again = make(tmp_path / "1b.h5", 4, seed=100)
    with pytest.raises(Conflict, match="duplicate"):
        ba.append(target, [again], concat="time")
    done = ba.append(target, [again], concat="time", replace=True)
    assert len(done.replaced) == 1
    expected = [n + 100 if 4 <= n < 8 else n for n in range(12)]
    assert values(target) == (list(range(12)), expected, [2 * n for n in expected])


def test_reprocessed_with_other_chunks_and_a_new_one(tmp_path: Path, target: Path) -> None:
    again = make(tmp_path / "1b.h5", 4, seed=100, chunks=(4, 2))
    ba.append(target, [make(tmp_path / "3.h5", 12), again], concat="time", replace=True)
    expected = [n + 100 if 4 <= n < 8 else n for n in range(16)]
    assert values(target) == (list(range(16)), expected, [2 * n for n in expected])
    ba.append(target, [make(tmp_path / "4.h5", 16)], concat="time")
    assert values(target)[1] == [*expected, 16, 17, 18, 19]


def test_files_before_the_first(tmp_path: Path, target: Path) -> None:
    ba.append(target, [make(tmp_path / "old.h5", -4)], concat="time")
    assert values(target) == (list(range(-4, 12)), list(range(-4, 12)), [2 * n for n in range(-4, 12)])


def test_a_conflict_changes_nothing(tmp_path: Path, target: Path) -> None:
    before = values(target)
    with pytest.raises(Conflict):
        ba.append(target, [make(tmp_path / "odd.h5", 10, seed=5)], concat="time")
    assert values(target) == before


def test_only_the_tail_of_a_parquet_map_is_written(tmp_path: Path) -> None:
    target = tmp_path / "map.parquet"
    first = [make(tmp_path / f"{k}.h5", 4 * k) for k in range(3)]
    ba.write(ba.combine(first, concat="time"), target, options=MapWriteOptions(record_size=5))
    old = {p.name: p.stat().st_mtime_ns for p in (target / "v").iterdir()}
    ba.append(target, [make(tmp_path / "3.h5", 12)], concat="time")
    new = {p.name: p.stat().st_mtime_ns for p in (target / "v").iterdir()}
    assert [n for n in sorted(new) if old.get(n) != new[n]] == ["refs.2.parq", "refs.3.parq"]


def test_needs_one_dimension(tmp_path: Path, target: Path) -> None:
    with pytest.raises(BadRequest):
        ba.append(target, [make(tmp_path / "3.h5", 12)])


def spread(path: Path, times: list[int], seed: float = 0, chunks: Any = (1, 3)) -> str:
    """A file of any times."""
    with h5py.File(path, "w") as f:
        f["time"] = np.array(times, "i4")
        f["time"].attrs["units"] = "days since 2000-01-01"
        f["time"].make_scale("time")
        values = np.add.outer(np.array(times, "f4"), np.arange(3, dtype="f4") / 8) + np.float32(seed)
        v = f.create_dataset("v", data=values, chunks=chunks, compression="gzip")
        w = f.create_dataset("w", data=values[:, 0] * 2)
        v.dims[0].attach_scale(f["time"])
        w.dims[0].attach_scale(f["time"])
    return str(path)


@pytest.mark.parametrize("chunks", [(1, 3), (2, 2)], ids=str)
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_times_among_others(tmp_path: Path, form: str, chunks: Any) -> None:
    """A file whose times lie between those of the map: added once, then passed over, then replaced."""
    target = tmp_path / f"map.{form}"
    first = [spread(tmp_path / "a.h5", [0, 2, 4, 9], chunks=chunks), spread(tmp_path / "c.h5", [7, 8], chunks=chunks)]
    ba.write(ba.combine(first, concat="time"), target)
    between = spread(tmp_path / "b.h5", [1, 3, 5, 6], chunks=chunks)
    assert ba.append(target, [between], concat="time").added == (between,)
    assert values(target) == (list(range(10)), list(range(10)), [2 * n for n in range(10)])
    assert ba.append(target, [between, *first], concat="time").skipped == (between, *first)
    again = spread(tmp_path / "b2.h5", [1, 3, 5, 6], seed=100, chunks=(3, 1))
    with pytest.raises(Conflict, match="duplicate"):
        ba.append(target, [again], concat="time")
    new = spread(tmp_path / "d.h5", [10, 11])
    done = ba.append(target, [again, new], concat="time", replace=True)
    assert (done.replaced, done.added) == ((again,), (new,))
    expected = [n + 100 if n in (1, 3, 5, 6) else n for n in range(12)]
    assert values(target) == (list(range(12)), expected, [2 * n for n in expected])


def test_a_longer_version_of_a_file_replaces_it(tmp_path: Path, target: Path) -> None:
    longer = make(tmp_path / "longer.h5", 8, 7, seed=100)
    with pytest.raises(Conflict, match="overlap"):
        ba.append(target, [longer], concat="time")
    assert ba.append(target, [longer], concat="time", replace=True).replaced == (longer,)
    expected = [*range(8), *range(108, 115)]
    assert values(target) == (list(range(15)), expected, [2 * n for n in expected])


def test_files_that_were_cut_are_passed_over(tmp_path: Path) -> None:
    """The map has parts of the first file's chunks: it is the same file all the same."""
    target = tmp_path / "map.json"
    paths = [make(tmp_path / "a.h5", 0, chunks=(4, 3)), make(tmp_path / "b.h5", 4, chunks=(2, 2))]
    ba.write(ba.combine(paths, concat="time"), target)
    assert ba.append(target, paths, concat="time").skipped == tuple(paths)


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_appending_is_combining(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, count = int(rng.integers(1, 5)), int(rng.integers(2, 6))
    times = rng.permutation(count * length) if seed % 2 else np.arange(count * length)
    own = [sorted(t.tolist()) for t in times.reshape(count, length)]
    current: dict[int, tuple[str, int]] = {}

    def new(k: int, version: int) -> str:
        chunks = (int(rng.integers(1, length + 1)), int(rng.integers(1, 4)))
        path = spread(tmp_path / f"{k}_{version}.h5", own[k], seed=100 * version, chunks=chunks)
        current[k] = (path, version)
        return path

    order = rng.permutation(count).tolist()
    target = tmp_path / ("map.json" if seed % 3 else "map.parquet")
    ba.write(ba.combine([new(order[0], 0)], concat="time"), target, options=MapWriteOptions(record_size=3))
    for k in order[1:]:
        ba.append(target, [new(k, 0)], concat="time")
        old = int(rng.choice(list(current)))
        if rng.random() < 0.5:
            path = new(old, current[old][1] + 1)
            assert ba.append(target, [path], concat="time", replace=True).replaced == (path,)
        else:
            assert ba.append(target, [current[old][0]], concat="time").skipped == (current[old][0],)
    version = {t: current[k][1] for k in current for t in own[k]}
    expected = [t + 100 * version[t] for t in range(count * length)]
    assert values(target) == (list(range(count * length)), expected, [2 * n for n in expected])


def test_chunks_of_a_map_keep_their_codecs(tmp_path: Path) -> None:
    """The map has chunks of several encodings; a new file makes it cut them along x."""
    paths = []
    for k, (times, chunks, codec) in enumerate(
        (([0, 3], (2, 2), "gzip"), ([1, 5], (1, 2), None), ([2, 4], (1, 1), None))
    ):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f["time"] = np.array(times)
            f["time"].make_scale("time")
            data = np.add.outer(times, np.arange(3) / 8)
            f.create_dataset("v", data=data, chunks=chunks, compression=codec).dims[0].attach_scale(f["time"])
        paths.append(str(tmp_path / f"{k}.h5"))
    ba.write(ba.combine(paths[:2], concat="time"), tmp_path / "map.json")
    both = ba.combine([str(tmp_path / "map.json"), paths[2]], concat="time")
    root: Any = ba.open(both)
    np.testing.assert_array_equal(root["v"][...], np.add.outer(np.arange(6), np.arange(3) / 8))


def test_the_same_numbers_of_another_calendar_are_other_times(tmp_path: Path) -> None:
    """Equal numbers and equal data: the file was passed over, and its dates were nowhere."""

    def made(calendar: str) -> str:
        path = tmp_path / f"{calendar}.h5"
        with h5py.File(path, "w") as file:
            file.create_dataset("time", data=np.arange(3.0)).make_scale("time")
            file["time"].attrs.update({"units": "days since 2000-02-27", "calendar": calendar})
            file.create_dataset("v", data=np.zeros((3, 4)), chunks=(1, 4)).dims[0].attach_scale(file["time"])
        return str(path)

    target = tmp_path / "map.json"
    ba.write(ba.combine([made("standard")], "time"), target)
    with pytest.raises(ba.Conflict, match="calendars differ"):
        ba.append(target, [made("noleap")], "time")
    for same in ("gregorian", "proleptic_gregorian"):
        assert ba.append(target, [made(same)], "time").skipped
