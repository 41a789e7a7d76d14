"""Many files at once: every file has a result or a reason, whatever happens to the workers."""

from __future__ import annotations

import concurrent.futures as cf
import inspect
import os
import pickle
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from byteatlas import api as ba
from byteatlas import errors
from byteatlas.cli.app import run
from byteatlas.executors import Outcome, for_each, tree_reduce
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


def check(outcome: Outcome[str], kind: str) -> None:
    assert outcome.results == {"a": "A", "b": "B", "c": "C"}
    assert [f.kind for f in outcome.failures.values()] == [kind]
    assert not outcome.ok


@pytest.mark.parametrize("executor", ["serial", "threads", "threads:2", "processes:2", None])
def test_one_failure_leaves_the_others(executor: str | None) -> None:
    seen: list[str] = []
    outcome = for_each(work, NAMES, executor, done=seen.append)
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


@pytest.mark.parametrize("width", [2, 3, 64])
def test_tree_reduction_keeps_the_order(width: int) -> None:
    items = [[n] for n in range(50)]
    assert tree_reduce(lambda parts: list(chain.from_iterable(parts)), items, "threads", width=width) == list(range(50))


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
    ]
    kinds = {c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, errors.ByteatlasError)}
    assert {type(e) for e in examples} == kinds - {errors.ByteatlasError}
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


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_with_workers_that_die() -> None:
    dask, distributed = pytest.importorskip("dask"), pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        check(for_each(work, NAMES, client), "CorruptFile")
        names = [str(n) for n in range(8)] + ["bad"]
        outcome = for_each(deadly, names, client)
        assert set(outcome.results) == set(names) - {"bad"}
        assert [f.kind for f in outcome.failures.values()] == ["WorkerDied"]
