"""Files whose coordinate values interleave or overlap, against NumPy and xarray on the originals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import byteatlas as ba
from byteatlas.errors import Conflict

h5py = pytest.importorskip("h5py")
xr = pytest.importorskip("xarray")


def make(path: Path, times: Any, *, seed: float = 0, chunks: Any = (1, 3), name: str = "v", **how: Any) -> str:
    """A file whose values follow from its times (and ``seed``); ``fixed`` has no time, ``w`` has it last."""
    times = np.asarray(times)
    with h5py.File(path, "w") as f:
        f["time"], f["x"] = times, np.arange(3.0)
        f["time"].make_scale("time")
        f["x"].make_scale("x")
        values = times[:, None].astype("f4") * 10 + np.arange(3, dtype="f4") + np.float32(seed)
        v = f.create_dataset(name, data=values, chunks=chunks, **({"compression": "gzip", **how} if chunks else how))
        w = f.create_dataset(
            "w", data=(values.T * 2).astype("i4"), chunks=(3, 2) if chunks and len(times) > 1 else None
        )
        s = f.create_dataset("series", data=values[:, 0])
        fixed = f.create_dataset("fixed", data=np.arange(3.0))
        for d, scales in ((v, "time x"), (w, "x time"), (s, "time"), (fixed, "x")):
            for k, scale in enumerate(scales.split()):
                d.dims[k].attach_scale(f[scale])
    return str(path)


def read(path: str) -> dict[str, NDArray[Any]]:
    with h5py.File(path) as f:
        return {k: f[k][...] for k in f}


def merged(paths: list[str], policy: str = "first") -> dict[str, NDArray[Any]]:
    """What the files hold, in the order of times; of equal times the first file's (or the last one's)."""
    files = [read(p) for p in paths]
    time = np.concatenate([f["time"] for f in files])
    rank = np.arange(len(time)) if policy == "first" else -np.arange(len(time))
    order = np.lexsort((rank, time))
    order = order[np.append(True, np.diff(time[order]) > 0)] if len(order) else order
    if len(files[0]["time"]) > 1 and files[0]["time"][0] > files[0]["time"][-1]:
        order = order[::-1]
    result = {"time": time[order], "fixed": files[0]["fixed"]}
    for name in ("v", "series"):
        result[name] = np.concatenate([f[name] for f in files])[order]
    result["w"] = np.concatenate([f["w"] for f in files], axis=1)[:, order]
    return result


def same(node: Any, expected: dict[str, NDArray[Any]], tmp_path: Path) -> None:
    """Equal in memory, as JSON and as Parquet."""
    for suffix in ("", "m.json", "m.parquet"):
        if suffix:
            ba.write(node, tmp_path / suffix)
        root: Any = ba.open(node if not suffix else str(tmp_path / suffix))
        for name, values in expected.items():
            np.testing.assert_array_equal(root[name][...], values, err_msg=f"{name} {suffix}")


def test_every_other_step_is_plain_zarr(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", [0, 2, 4]), make(tmp_path / "b.h5", [1, 3, 5])]
    plan = ba.plan_combine(paths, concat="time")
    assert plan.ok
    (finding,) = [f for f in plan.findings if f.code == "interleaved"]
    assert finding.level == "reconciled"
    assert [b.first for b in plan.dimensions[0].blocks] == [0, 1, 2, 3, 4, 5]
    assert {v.path: v.plain for v in plan.variables}["v"]
    assert len(plan.inputs) == 2
    both = ba.combine(paths, concat="time")
    same(both, merged(paths), tmp_path)
    theirs = xr.concat([xr.open_dataset(p) for p in paths], "time", data_vars="minimal").sortby("time")
    np.testing.assert_array_equal(xr.open_dataset(both, engine="byteatlas")["v"].values, theirs["v"].values)


def test_runs_of_whole_chunks_are_plain_zarr(tmp_path: Path) -> None:
    paths = [
        make(tmp_path / "a.h5", [0, 1, 4, 5, 8, 9], chunks=(2, 3)),
        make(tmp_path / "b.h5", [2, 3, 6, 7], chunks=(2, 3)),
    ]
    assert {v.path: v.plain for v in ba.plan_combine(paths, concat="time").variables}["v"]
    same(ba.combine(paths, concat="time"), merged(paths), tmp_path)


@pytest.mark.parametrize("policy", ["first", "last"])
@pytest.mark.parametrize("chunks", [(1, 3), (2, 3), (4, 2), None], ids=str)
def test_overlapping_tails(tmp_path: Path, policy: Any, chunks: Any) -> None:
    paths = [
        make(tmp_path / "a.h5", range(10), chunks=chunks),
        make(tmp_path / "b.h5", range(8, 18), seed=1000, chunks=chunks),
        make(tmp_path / "c.h5", range(17, 20), seed=2000, chunks=chunks and (1, 3)),
    ]
    with pytest.raises(Conflict, match=r"8 \.\.\. 17.*a\.h5.*duplicates.*b\.h5.*\[overlap\]"):
        ba.combine(paths, concat="time")
    both = ba.combine(paths, concat="time", duplicates=policy)
    same(both, merged(paths, policy), tmp_path)
    if chunks == (1, 3):
        assert {v.path: v.plain for v in ba.plan_combine(paths, "time", duplicates=policy).variables}["v"]


def test_equal_data_for_the_same_times_need_no_policy(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", range(10)), make(tmp_path / "b.h5", range(9, 14))]
    same(ba.combine(paths, concat="time"), merged(paths), tmp_path)
    with pytest.raises(Conflict, match="overlap"):
        ba.combine(paths, concat="time", reconcile=False)


def test_a_file_inside_another(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", range(12), chunks=(5, 3)), make(tmp_path / "b.h5", [4, 5, 6], seed=500)]
    same(ba.combine(paths, concat="time", duplicates="last"), merged(paths, "last"), tmp_path)
    same(ba.combine(paths, concat="time", duplicates="first"), merged(paths, "first"), tmp_path)


def test_descending(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", [9, 6, 3, 0], chunks=(2, 3)), make(tmp_path / "b.h5", [8, 7, 2], chunks=(3, 3))]
    same(ba.combine(paths, concat="time"), merged(paths), tmp_path)


def test_different_variables_of_overlapping_times(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", range(6), name="t"), make(tmp_path / "b.h5", range(4, 9), name="p", seed=0)]
    root: Any = ba.open(ba.combine(paths, concat="time"))
    theirs = xr.open_mfdataset(paths, combine="by_coords", join="outer", data_vars="minimal", compat="no_conflicts")
    for name in ("t", "p", "series"):
        np.testing.assert_array_equal(root[name][...], theirs[name].values)


def test_tiles_of_interleaved_times(tmp_path: Path) -> None:
    paths = []
    for k, (times, x0) in enumerate((t, x) for t in ([0, 2, 3], [1, 4]) for x in (0, 2)):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f["time"], f["x"] = np.array(times), np.arange(x0, x0 + 2.0)
            f["time"].make_scale("time")
            f["x"].make_scale("x")
            v = f.create_dataset("v", data=np.add.outer(times, np.arange(x0, x0 + 2) / 8), chunks=(2, 2))
            v.dims[0].attach_scale(f["time"])
            v.dims[1].attach_scale(f["x"])
        paths.append(str(tmp_path / f"{k}.h5"))
    root: Any = ba.open(ba.combine(paths, concat=("time", "x")))
    np.testing.assert_array_equal(root["v"][...], np.add.outer(np.arange(5), np.arange(4) / 8))


def test_times_that_were_rounded_are_not_taken_for_others(tmp_path: Path) -> None:
    day = np.arange(6) / 24
    paths = [make(tmp_path / "a.h5", day), make(tmp_path / "b.h5", (np.arange(3, 9) * np.float32(1 / 24)).astype("f8"))]
    with pytest.raises(Conflict, match=r"differ from those of .*a\.h5.*b\.h5"):
        ba.combine(paths, concat="time", duplicates="first")


def test_what_goes_up_and_down_is_refused(tmp_path: Path) -> None:
    paths = [make(tmp_path / "a.h5", [0, 2, 1]), make(tmp_path / "b.h5", [3, 4])]
    with pytest.raises(Conflict, match=r"goes up and down.*a\.h5.*\[order\]"):
        ba.combine(paths, concat="time", duplicates="first")


def test_small_variables_in_many_parts_are_kept_in_the_map(tmp_path: Path) -> None:
    hours = np.arange(600)
    paths = [make(tmp_path / "a.h5", hours[::2]), make(tmp_path / "b.h5", hours[1::2])]
    with h5py.File(paths[0], "a") as f:
        old = f["series"][...]
        del f["series"]
        f.create_dataset("series", data=old, chunks=(300,), compression="gzip").dims[0].attach_scale(f["time"])
    plan = ba.plan_combine(paths, concat="time")
    assert {v.path: (v.action, v.references) for v in plan.variables}["series"] == ("inlined", 1)
    same(ba.combine(paths, concat="time"), merged(paths), tmp_path)


def test_more_parts_than_can_be_said_are_refused(tmp_path: Path) -> None:
    hours = np.arange(1200)
    paths = []
    for k in range(2):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f["time"] = hours[k::2]
            f["time"].make_scale("time")
            v = f.create_dataset("v", data=np.zeros((600, 600)), chunks=(600, 600), compression="gzip")
            v.dims[0].attach_scale(f["time"])
        paths.append(str(tmp_path / f"{k}.h5"))
    with pytest.raises(Conflict, match=r"variable 'v': cannot be cut.*\[chunks\]"):
        ba.combine(paths, concat="time")


@pytest.mark.parametrize("seed", range(14))
def test_any_times(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    paths, policy = [], ("first", "last")[seed % 2]
    for k in range(rng.integers(2, 5)):
        times = np.sort(rng.choice(24, rng.integers(1, 12), replace=False)).astype(("i4", "f8")[int(rng.integers(2))])
        n = len(times)
        chunks = None if rng.random() < 0.2 else (int(rng.integers(1, n + 1)), int(rng.integers(1, 4)))
        paths.append(make(tmp_path / f"{k}.h5", times, seed=1000 * k, chunks=chunks))
    same(ba.combine(paths, concat="time", duplicates=policy), merged(paths, policy), tmp_path)


def test_leaving_out_what_overlaps(tmp_path: Path) -> None:
    """The file that comes later is blamed, not all the others."""
    for again in ([2, 3], [0, 2, 4]):
        paths = [
            make(tmp_path / "a.h5", [0, 2, 4]),
            make(tmp_path / "b.h5", again, seed=9),
            make(tmp_path / "c.h5", [5]),
        ]
        root: Any = ba.open(ba.combine(paths, concat="time", on_conflict="drop-file"))
        assert root["time"][...].tolist() == [0, 2, 4, 5]


def test_text_as_the_coordinate(tmp_path: Path) -> None:
    paths = []
    for k, names in enumerate((["a", "c", "e"], ["b", "c"])):
        with h5py.File(tmp_path / f"{k}.h5", "w") as f:
            f.create_dataset("site", data=names, dtype=h5py.string_dtype())
            f["site"].make_scale("site")
            v = f.create_dataset("v", data=np.arange(len(names)) + 100 * k, chunks=(1,))
            v.dims[0].attach_scale(f["site"])
        paths.append(str(tmp_path / f"{k}.h5"))
    root: Any = ba.open(ba.combine(paths, concat="site", duplicates="last"))
    assert root["site"][...].tolist() == ["a", "b", "c", "e"]
    assert root["v"][...].tolist() == [0, 100, 101, 2]
