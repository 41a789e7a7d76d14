"""Appending to a map: only the tail is written, twice is once, reprocessed files replace older ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteatlas import api as ba
from byteatlas.errors import BadRequest, Conflict
from byteatlas.manifest.options import WriteOptions

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
    ba.write(ba.combine(first, concat="time"), path, options=WriteOptions(record_size=5))
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
    ba.write(ba.combine(first, concat="time"), target, options=WriteOptions(record_size=5))
    old = {p.name: p.stat().st_mtime_ns for p in (target / "v").iterdir()}
    ba.append(target, [make(tmp_path / "3.h5", 12)], concat="time")
    new = {p.name: p.stat().st_mtime_ns for p in (target / "v").iterdir()}
    assert [n for n in sorted(new) if old.get(n) != new[n]] == ["refs.2.parq", "refs.3.parq"]


def test_needs_one_dimension(tmp_path: Path, target: Path) -> None:
    with pytest.raises(BadRequest):
        ba.append(target, [make(tmp_path / "3.h5", 12)])
