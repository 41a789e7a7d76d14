"""Icechunk repositories in object storage: named by URLs, with sources in the same bucket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.maps import array
from tests.s3_servers import Bucket, s3_subset

import byteatlas as ba
from byteatlas.cli.app import run
from byteatlas.manifest.foreign.icechunk import IcechunkOptions
from byteatlas.manifest.model import SourceInfo, VirtualArray, VirtualGroup, inline_manifest
from byteatlas.values import replace

icechunk = pytest.importorskip("icechunk")
pytest.importorskip("obstore")
if not hasattr(icechunk.IcechunkStore, "array_chunk_iterator"):
    pytest.skip("icechunk 1 does not tell where chunks lie", allow_module_level=True)
pytestmark = pytest.mark.filterwarnings("ignore")
WHERE = "icechunk:s3://bucket/archives/ocean"


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    with s3_subset() as started:
        yield started


def step(bucket: Bucket, i: int) -> VirtualGroup:
    """One step of time: an object with three chunks of two values, and its coordinate."""
    key = f"data/a {i}.bin"
    bucket.objects[key] = (np.arange(6, dtype="<f4") + 10 * i).tobytes()
    refs: dict[tuple[int, ...], Any] = {(0, j): (bucket.at(key), 8 * j, 8) for j in range(3)}
    v = array((1, 6), (1, 2), references=refs, dimension_names=("time", "x"), attributes={"units": "K"})
    v = replace(v, manifest=replace(v.manifest.load(), sources=(SourceInfo(bucket.at(key), 24),)))
    t = array((1,), (1,), dimension_names=("time",), attributes={})
    return VirtualGroup(
        arrays={"time": VirtualArray(t.meta, inline_manifest((1,), {0: np.float32(i).tobytes()})), "v": v}
    )


def expected(*steps: int) -> Any:
    return np.arange(6, dtype="<f4") + 10 * np.array(steps, dtype="<f4")[:, None]


def values(bucket: Bucket, where: str = WHERE, **version: Any) -> Any:
    root: Any = ba.open(where, storage_options=bucket.options(), **version)
    return root["v"][...]


def test_written_appended_replaced_and_read_by_url(bucket: Bucket, tmp_path: Path) -> None:
    options = bucket.options()
    ba.write(ba.combine([step(bucket, 0), step(bucket, 1)], "time"), WHERE, storage_options=options)
    np.testing.assert_array_equal(values(bucket), expected(0, 1))
    with pytest.raises(ba.Conflict, match="holds data in branch 'main'"):
        ba.write(step(bucket, 2), WHERE, storage_options=options)
    done = ba.append(WHERE, [step(bucket, 2)], "time", storage_options=options)
    assert len(done.added) == 1
    np.testing.assert_array_equal(values(bucket), expected(0, 1, 2))
    ba.write(ba.load(WHERE, storage_options=options), tmp_path / "back.json")
    np.testing.assert_array_equal(values(bucket, str(tmp_path / "back.json")), expected(0, 1, 2))
    ba.write(step(bucket, 3), WHERE, mode="replace", storage_options=options)
    np.testing.assert_array_equal(values(bucket), expected(3))


def test_zarr_python_reads_what_was_written(bucket: Bucket) -> None:
    zarr = pytest.importorskip("zarr")
    ba.write(step(bucket, 4), WHERE, storage_options=bucket.options())
    keys = {"access_key_id": bucket.options()["key"], "secret_access_key": bucket.options()["secret"]}
    storage = icechunk.s3_storage(
        bucket="bucket", prefix="archives/ocean", endpoint_url=bucket.url, allow_http=True, force_path_style=True,
        region="us-east-1", **keys,
    )  # fmt: skip
    allowed = icechunk.containers_credentials({"s3://bucket/": icechunk.s3_credentials(**keys)})
    opened = icechunk.Repository.open(storage, authorize_virtual_chunk_access=allowed)
    group = zarr.open_group(opened.readonly_session("main").store, mode="r")
    np.testing.assert_array_equal(group["v"][...], expected(4))


def test_branches_tags_and_snapshots(bucket: Bucket) -> None:
    options = bucket.options()
    ba.write(step(bucket, 0), WHERE, storage_options=options)
    ba.write(step(bucket, 1), WHERE, storage_options=options, options=IcechunkOptions(branch="trial"))
    np.testing.assert_array_equal(values(bucket, branch="trial"), expected(1))
    np.testing.assert_array_equal(values(bucket, f"{WHERE}?branch=trial"), expected(1))
    np.testing.assert_array_equal(values(bucket), expected(0))
    for kind, name in (("branch", "trail"), ("tag", "v1"), ("snapshot", "none"), ("snapshot", "0" * 20)):
        with pytest.raises(ba.NotFound, match=name):
            values(bucket, **{kind: name})
    with pytest.raises(ba.NotFound, match="did you mean 'trial'"):
        values(bucket, branch="trail")
    with pytest.raises(ba.NotFound, match="did you mean 'trial'"):
        ba.append(f"{WHERE}?branch=trail", [step(bucket, 2)], "time", storage_options=options)


@pytest.mark.parametrize("writes", [False, True])
def test_a_bucket_that_is_not_there(writes: bool, bucket: Bucket) -> None:
    def ask() -> None:
        where = "icechunk:s3://buckett/ocean"
        if writes:
            ba.write(step(bucket, 0), where, storage_options=bucket.options())
        else:
            ba.load(where, storage_options=bucket.options())

    with pytest.raises(
        ba.FetchFailed, match=r"s3://buckett/ocean: there is no (such bucket|Icechunk repository)$"
    ) as it:
        ask()
    assert it.value.absent


def test_nothing_to_read_or_append_to(bucket: Bucket) -> None:
    with pytest.raises(ba.FetchFailed, match="there is no Icechunk repository") as refused:
        ba.load(WHERE, storage_options=bucket.options())
    assert refused.value.absent
    with pytest.raises(ba.FetchFailed, match="there is no Icechunk repository"):
        ba.append(WHERE, [step(bucket, 0)], "time", storage_options=bucket.options())
    assert not any(key.startswith("archives") for key in bucket.objects)


def test_denied(bucket: Bucket) -> None:
    ba.write(step(bucket, 0), WHERE, storage_options=bucket.options())
    before = dict(bucket.objects)
    bucket.keys = {"somebody-else"}
    for ask in (
        lambda: ba.load(WHERE, storage_options=bucket.options()),
        lambda: ba.write(step(bucket, 0), WHERE, storage_options=bucket.options(), mode="replace"),
        lambda: ba.append(WHERE, [step(bucket, 1)], "time", storage_options=bucket.options()),
    ):
        with pytest.raises(ba.FetchFailed, match="refuses access; check the credentials") as refused:
            ask()
        assert refused.value.denied
        assert not refused.value.absent
    assert {k: v for k, v in bucket.objects.items() if k in before} == before


def test_a_source_that_changed(bucket: Bucket) -> None:
    bucket.objects["data/old.bin"] = np.arange(6, dtype="<f4").tobytes()
    found: Any = step(bucket, 0)
    known = SourceInfo(bucket.at("data/a 0.bin"), 24, '"an etag of before"')
    v = found.arrays["v"]
    found = replace(found, arrays={**found.arrays, "v": replace(v, manifest=replace(v.manifest, sources=(known,)))})
    ba.write(found, WHERE, storage_options=bucket.options())
    with pytest.raises(ba.SourceChanged):
        values(bucket)


def test_from_the_shell(bucket: Bucket, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ba.write(step(bucket, 5), tmp_path / "m.json")
    more = ["--storage-options", json.dumps(bucket.options())]
    assert run(["convert", f"{tmp_path}/m.json", WHERE, *more]) == 0
    assert run(["info", WHERE, *more]) == 0
    assert "time" in capsys.readouterr().out
    assert run(["info", f"{WHERE}?branch=other", *more]) != 0
    assert "no branch 'other'" in capsys.readouterr().err
