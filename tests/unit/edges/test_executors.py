"""Many files at once: every file has a result or a reason, whatever happens to the workers."""

from __future__ import annotations

import concurrent.futures as cf
import gc
import inspect
import os
import pickle
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byteatlas as ba
from byteatlas import errors
from byteatlas.cli.app import run
from byteatlas.combining import CombineOptions
from byteatlas.executors.combining import Part, ReadAndJoin, gathered, prepare_many
from byteatlas.executors.pools import pool_of, through_futures
from byteatlas.executors.results import BROKEN, Failure, Results
from byteatlas.executors.running import for_each
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")

NAMES = ["a", "b", "bad", "c"]


def work(name: str) -> str:
    if name == "bad":
        raise errors.CorruptFile(12, "no good", "file://bad")
    return name.upper()


def deadly(name: str) -> str:
    """Kills its process for one of the names."""
    if name == "bad":
        os._exit(3)
    return name.upper()


def defective(name: str) -> str:
    raise ZeroDivisionError(name)


def check(outcome: Results[str], kind: str) -> None:
    assert outcome.results == {"a": "A", "b": "B", "c": "C"}
    assert [f.kind for f in outcome.failures.values()] == [kind]
    assert not outcome.ok


@pytest.mark.parametrize("executor", ["serial", "threads", "threads:2", "processes:2", None])
def test_one_failure_leaves_the_others(executor: str | None) -> None:
    seen: list[str] = []
    outcome = for_each(work, NAMES, executor, progress=lambda event: seen.append(event.name))
    check(outcome, "CorruptFile")
    assert sorted(seen) == sorted(NAMES)
    assert "byte 12: no good" in outcome.failures["bad"].message


def test_any_executor() -> None:
    with cf.ThreadPoolExecutor(2) as pool:
        check(for_each(work, NAMES, pool), "CorruptFile")


def test_a_worker_that_dies() -> None:
    check(for_each(deadly, NAMES, "processes:2"), "WorkerDied")


def test_defects_are_not_failures() -> None:
    with pytest.raises(ZeroDivisionError):
        for_each(defective, ["a"], "threads")


def test_unknown_executor() -> None:
    with pytest.raises(errors.BadRequest):
        for_each(work, NAMES, "carrier pigeons")


def test_errors_survive_pickling() -> None:
    examples: list[errors.ByteatlasError] = [
        errors.CorruptFile(1, "x", "u"),
        errors.InvalidMetadata("a", "b"),
        errors.CorruptChunk("w", array="v", chunk=(0, 1), url="u", range=ByteRange(1, 2)),
        errors.Unsupported("filter", "d", "p"),
        errors.NotFound("n", ["k"]),
        errors.BadRequest("b"),
        errors.BadSelection("s"),
        errors.Conflict(["one", "two"]),
        errors.MissingExtra("dask", "this"),
        errors.FetchFailed("u", "w", ByteRange(3, 4), transient=True),
        errors.SourceChanged("u", "size", 1, 2),
        errors.Forbidden("u", "no"),
        errors.Absent("u"),
    ]
    kinds = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.ByteatlasError)}
    assert {type(e) for e in examples} == kinds - {errors.ByteatlasError, errors.FileFault}
    for error in examples:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__


def archive(folder: Path, count: int) -> list[str]:
    paths = []
    for k in range(count):
        with h5py.File(folder / f"f{k}.h5", "w") as f:
            f["time"] = np.array([k])
            f["time"].make_scale("time")
            f.create_dataset("v", data=np.array([k / 2]), chunks=(1,)).dims[0].attach_scale(f["time"])
        paths.append(str(folder / f"f{k}.h5"))
    return paths


def test_scan_many_and_resume(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = archive(tmp_path, 4)
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    maps = tmp_path / "maps"
    command = ["scan", *paths, str(tmp_path / "broken.h5"), "-o", str(maps), "--executor", "processes:2"]
    assert run(command) == 3
    assert len(list(maps.iterdir())) == 4
    written = {p: p.stat().st_mtime_ns for p in maps.iterdir()}
    capsys.readouterr()
    (maps / "f2.json").unlink()
    assert run([*command, "--resume"]) == 3
    assert capsys.readouterr().out.count("was there already") == 3
    assert {p for p in maps.iterdir() if p.stat().st_mtime_ns != written[p]} == {maps / "f2.json"}
    root: Any = ba.open(ba.combine(sorted(map(str, maps.iterdir())), concat="time"))
    assert root["v"][...].tolist() == [0, 0.5, 1, 1.5]


OPTIONS = CombineOptions(concat=("time",))


def same_plan(a: Any, b: Any) -> None:
    assert a is not None
    assert a.plan.variables == b.plan.variables
    left, right = a.result(), b.result()
    for path, node in left.walk():
        one, other = (np.asarray(ba.open(g)[path]) for g in (left, right))
        np.testing.assert_array_equal(one, other)
        assert node.meta == right[path].meta, path


CASES = [("serial", 1), ("serial", 64), ("threads:2", 3), ("processes:2", 3)]


@pytest.mark.parametrize(("executor", "width"), CASES)
def test_neighbours_are_combined_where_they_are_read(tmp_path: Path, executor: str, width: int) -> None:
    paths = archive(tmp_path, 8)
    seen: list[str] = []
    found = prepare_many(paths, OPTIONS, executor, progress=lambda event: seen.append(event.name), width=width)
    assert set(seen) == set(paths)
    same_plan(found.prepared, ba.prepare_combine(paths, options=OPTIONS))
    assert found.prepared is not None
    assert len(found.prepared.plan.inputs) == -(-8 // width)


@pytest.mark.parametrize(
    "change", [{"dtype": "f4"}, {"chunks": (2,)}, {"times": [3, 4, 5]}, {"times": [9, 12]}, {"units": "K"}], ids=str
)
def test_differences_are_told_as_if_all_were_read_at_once(tmp_path: Path, change: dict[str, Any]) -> None:
    paths = archive(tmp_path, 8)
    times = np.array(change.get("times", [3]))
    with h5py.File(paths[3], "w") as f:
        f["time"] = times
        f["time"].make_scale("time")
        v = f.create_dataset(
            "v", data=(times / 2).astype(change.get("dtype", "f8")), chunks=change.get("chunks", (1,)), maxshape=(None,)
        )
        v.attrs["units"] = change.get("units", "m")
        v.dims[0].attach_scale(f["time"])
    for width in (2, 3):
        found = prepare_many(paths, OPTIONS, "serial", width=width).prepared
        flat = ba.prepare_combine(paths, options=OPTIONS)
        assert found is not None
        assert found.plan == flat.plan
        if not flat.conflicts:
            same_plan(found, flat)


def test_files_that_cannot_be_read_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = archive(tmp_path, 3)
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    found = prepare_many([*paths, str(tmp_path / "broken.h5")], OPTIONS, "threads:2", width=2)
    assert found.prepared is None
    assert list(found.failures) == [str(tmp_path / "broken.h5")]
    command = ["combine", *paths, "-c", "time", "-o", str(tmp_path / "all.json"), "--executor", "threads:2"]
    assert run([*command, str(tmp_path / "broken.h5")]) == 3
    assert "broken.h5" in capsys.readouterr().err
    assert not (tmp_path / "all.json").exists()
    assert run(command) == 0
    root: Any = ba.open(str(tmp_path / "all.json"))
    assert root["v"][...].tolist() == [0, 0.5, 1]
    for odd in ([], [paths[0], paths[0]], ["a\nb"]):
        with pytest.raises(errors.BadRequest):
            prepare_many(odd, OPTIONS)


@dataclass(frozen=True, slots=True)
class Deadly(ReadAndJoin):
    """Kills its process when it meets a certain file."""

    def __call__(self, task: str) -> Part:
        if "f5.h5" in task:
            os._exit(3)
        return ReadAndJoin.__call__(self, task)


def test_only_the_file_that_kills_its_worker_is_lost(tmp_path: Path) -> None:
    parts, failures = gathered(archive(tmp_path, 8), Deadly(OPTIONS, None), "processes:2", print, 3)
    lost(parts, failures, tmp_path)


def lost(parts: list[Part], failures: Any, folder: Path) -> None:
    assert {f.kind for f in failures.values()} == {"WorkerDied"}
    assert list(failures) == [str(folder / "f5.h5")]
    names = [n for p in parts for n in p.names]
    assert names == [f"{folder}/f0.h5 ... {folder}/f2.h5", f"{folder}/f3.h5", f"{folder}/f4.h5",
                     f"{folder}/f6.h5 ... {folder}/f7.h5"]  # fmt: skip


def test_workers_of_ours_collect_rarely() -> None:
    before = gc.get_threshold()
    with pool_of("processes", 1) as pool:
        assert pool.submit(gc.get_threshold).result()[0] > before[0]
    assert gc.get_threshold() == before


class BrokenPool(cf.Executor):
    """Works at once, and dies of a message that names a certain file."""

    def __init__(self) -> None:
        self.messages: list[list[str]] = []

    def submit(self, function: Any, /, *args: Any, **kwargs: Any) -> cf.Future[Any]:
        self.messages.append(list(args[1]))
        future: cf.Future[Any] = cf.Future()
        if "deadly" in args[1]:
            future.set_exception(BrokenProcessPool("died"))
        else:
            future.set_result(function(*args))
        return future


def test_workers_get_several_files_at_a_time() -> None:
    names = ["a", "b", "bad", "deadly", "c", "d", "e"]
    told: list[str] = []

    def work(name: str) -> str:
        if name == "bad":
            raise errors.BadRequest("bad")
        return name.upper()

    pool = BrokenPool()
    found = through_futures(work, names, pool, told.append, 2)
    assert pool.messages == [["a", "b"], ["bad", "deadly"], ["c", "d"], ["e"]]
    assert {n: r for n, r in found.items() if isinstance(r, str)} == {"a": "A", "b": "B", "c": "C", "d": "D", "e": "E"}
    assert {n: r.kind for n, r in found.items() if isinstance(r, Failure)} == {"bad": BROKEN, "deadly": BROKEN}
    assert sorted(told) == ["a", "b", "c", "d", "e"]  # the others are tried again, and told of then


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_with_workers_that_die(tmp_path: Path) -> None:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 1,
                # A busy machine may not get a dead worker's successor going; that must end in a failure, not in a wait.
                "distributed.scheduler.no-workers-timeout": "90s",
            }
        ),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        check(for_each(work, NAMES, client), "CorruptFile")
        paths = archive(tmp_path, 8)
        same_plan(prepare_many(paths, OPTIONS, client, width=3).prepared, ba.prepare_combine(paths, options=OPTIONS))
        parts, failures = gathered(paths, Deadly(OPTIONS, None), client, print, 1)
        assert [n for p in parts for n in p.names] == [p for p in paths if "f5" not in p]
        assert {n: f.kind for n, f in failures.items()} == {paths[5]: "WorkerDied"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_without_workers() -> None:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"}),
        distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        outcome = for_each(work, ["1", "2"], client)
    assert not outcome.results
    assert [f.kind for f in outcome.failures.values()] == ["NoWorkers"] * 2
