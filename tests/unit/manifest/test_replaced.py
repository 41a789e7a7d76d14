"""Parquet maps on object storage that are written over: whatever breaks, readers find the old map or the new one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.s3_servers import Bucket, s3_subset

import byteatlas as ba
from byteatlas.errors import ByteatlasError, InvalidMetadata, SourceChanged
from byteatlas.io.access import Access
from byteatlas.io.retry import Retry
from byteatlas.manifest.parquet.marks import KEY

Backend = Literal["obstore", "fsspec"]
Write = Callable[[str, Path, Access], object]


@pytest.fixture
def ours() -> Iterator[Bucket]:
    with s3_subset() as bucket:
        yield bucket


def access(bucket: Bucket, backend: Backend = "obstore") -> Access:
    quick = Retry(tries=1, wait=0.001)
    return Access({"s3://bucket/": bucket.options()}, ba.Policy(local=True), backend=backend, retry=quick)


def series(path: Path, step: int) -> str:
    with h5py.File(path, "w") as file:
        file["time"] = np.array([step], "i4")
        file["time"].make_scale()
        file["x"] = np.full((1, 4), float(step))
        file["x"].dims[0].attach_scale(file["time"])
    return str(path)


def values(node: Any) -> tuple[list[int], list[float]]:
    return node["time"][...].tolist(), node["x"][:, 0].tolist()


OLD = ([5], [5.0])
APPENDED, REPLACED = ([2, 5], [2.0, 5.0]), ([2], [2.0])


def down_after(writes: list[str], count: int, number: int, method: str, path: str) -> str | None:
    """A server that goes down for good when so many writes were answered."""
    if method in ("PUT", "DELETE"):
        writes.append(path)
    return "400" if len(writes) > count else None


def append(url: str, file: Path, how: Access) -> object:
    return ba.append(url, [str(file)], "time", access=how)


def replace(url: str, file: Path, how: Access) -> None:
    ba.write(ba.scan(file), url, access=how)


@pytest.mark.parametrize(("write", "new"), [(append, APPENDED), (replace, REPLACED)])
@pytest.mark.parametrize("backend", ["obstore", "fsspec"])
def test_readers_find_the_old_map_or_the_new_one(
    ours: Bucket, backend: Backend, write: Write, new: tuple[list[int], list[float]], tmp_path: Path
) -> None:
    """An input in front of the others moves every row. The server goes down before each of the writes in turn."""
    how, url = access(ours, backend), ours.at("all.parquet")
    first, second = series(tmp_path / "5.h5", 5), Path(series(tmp_path / "2.h5", 2))
    ba.write(ba.scan(first), url, access=how)
    before, seen = dict(ours.objects), set[bool]()
    for down in range(100):
        ours.plan = lambda number, method, path: None
        ours.objects.clear()
        ours.objects.update(before)
        old, writes = ba.open(url, access=how), list[str]()
        ours.plan = partial(down_after, writes, down)
        failed = False
        try:
            write(url, second, how)
        except ByteatlasError:
            failed = True
        ours.plan = lambda number, method, path: None
        found = values(ba.open(url, access=how))
        assert found in (OLD, new), f"down after {down} writes"
        seen.add(found == new)
        assert failed or found == new
        try:
            assert values(old) == OLD, f"opened before; down after {down} writes"
        except SourceChanged:
            assert found == new
        if len(writes) <= down:
            break
    assert seen == {True, False}
    assert not failed
    names = {"all.parquet/.zmetadata", "all.parquet/time/refs.0.parq", "all.parquet/x/refs.0.parq"}
    assert set(ours.objects) == names, "nothing lies beside the map"


def test_a_broken_append_can_be_made_again(ours: Bucket, tmp_path: Path) -> None:
    how, url = access(ours), ours.at("all.parquet")
    files = [series(tmp_path / f"{k}.h5", k) for k in (5, 2, 7)]
    ba.write(ba.scan(files[0]), url, access=how)
    seen = list[str]()

    def plan(number: int, method: str, path: str) -> str | None:
        counts = method == "PUT" and path.endswith("/.zmetadata")
        seen.extend([path] if counts or seen else [])
        return "400" if len(seen) > 1 else None

    ours.plan = plan
    with pytest.raises(ByteatlasError):
        append(url, Path(files[1]), how)
    ours.plan = lambda number, method, path: None
    ours.objects.pop(".all.parquet.lock", None)  # else it is waited for
    append(url, Path(files[1]), how)
    assert values(ba.open(url, access=how)) == APPENDED
    append(url, Path(files[2]), how)
    assert values(ba.open(url, access=how)) == ([2, 5, 7], [2.0, 5.0, 7.0])


def test_a_new_map_has_no_marks(ours: Bucket, tmp_path: Path) -> None:
    ba.write(ba.scan(series(tmp_path / "a.h5", 1)), ours.at("all.parquet"), access=access(ours))
    assert "parts" not in json.loads(ours.objects["all.parquet/.zmetadata"]).get("byteatlas", {})
    data = ours.objects["all.parquet/x/refs.0.parq"]
    assert KEY not in (pq.read_metadata(pa.py_buffer(data)).metadata or {})


def test_large_parts_are_read_again_for_their_names(
    ours: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("byteatlas.manifest.parquet.marks.KEPT", 0)
    how, url = access(ours), ours.at("all.parquet")
    files = [series(tmp_path / f"{k}.h5", k) for k in (5, 2)]
    ba.write(ba.scan(files[0]), url, access=how)
    append(url, Path(files[1]), how)
    assert values(ba.open(url, access=how)) == APPENDED


@pytest.mark.parametrize("parts", [[], {"x/refs.0.parq": "../../etc"}, {"x/refs.0.parq": 5}])
def test_marks_that_are_none(ours: Bucket, parts: Any, tmp_path: Path) -> None:
    how, url = access(ours), ours.at("all.parquet")
    ba.write(ba.scan(series(tmp_path / "a.h5", 1)), url, access=how)
    whole = json.loads(ours.objects["all.parquet/.zmetadata"])
    whole["byteatlas"]["parts"] = parts
    ours.objects["all.parquet/.zmetadata"] = json.dumps(whole).encode()
    with pytest.raises(InvalidMetadata, match="mark"):
        ba.open(url, access=how)
