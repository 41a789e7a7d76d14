"""Many processes add to one map on object storage: every addition is there, or its process was told."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.s3_servers import KEY, SECRET, Bucket, moto_s3, s3_subset
from tests.unit.edges.test_concurrent_appends import archives

import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.io.locks import version_of
from byteatlas.io.writing.leases import one_writer
from byteatlas.io.writing.remote import RemoteFolder, remote_file
from byteatlas.io.writing.versions import NEW, Overtaken

COMMAND = f"""
import sys, byteatlas as ba
from byteatlas.io.access import Access
options = {{"key": {KEY!r}, "secret": {SECRET!r}, "endpoint_url": sys.argv[3]}}
how = Access({{"s3://bucket/": options}}, ba.Policy(local=True), backend=sys.argv[4])
try:
    ba.append(sys.argv[1], [sys.argv[2]], "time", access=how)
except ba.Conflict:
    sys.exit(5)
"""
Backend = Literal["obstore", "fsspec"]
BOTH: tuple[Backend, ...] = ("obstore", "fsspec")


@pytest.fixture(scope="module")
def moto() -> Iterator[Bucket]:
    with moto_s3() as bucket:
        yield bucket


def access(bucket: Bucket, backend: Backend = "obstore") -> Access:
    return Access({"s3://bucket/": bucket.options()}, ba.Policy(local=True), backend=backend)


@pytest.mark.parametrize(
    ("name", "count", "backend"),
    [("all.json", 16, "obstore"), ("all.parquet", 16, "obstore"), ("s3fs.json", 4, "fsspec")],
)
def test_processes_take_turns(moto: Bucket, name: str, count: int, backend: Backend, tmp_path: Path) -> None:
    first, *others = archives(tmp_path, 1 + count)
    target, how = moto.at(name), access(moto, backend)
    ba.write(ba.scan(first), target, access=how)
    command = [sys.executable, "-c", COMMAND, target]
    running = [subprocess.Popen([*command, path, moto.url, backend]) for path in others]
    told = [process.wait(300) for process in running]
    assert set(told) <= {0, 5}
    opened: Any = ba.open(target, access=how)
    added = [0, *(k for k, code in enumerate(told, 1) if code == 0)]
    assert opened["x"][...].tolist() == added
    assert told.count(0) == count, "there is time enough for all"


@pytest.mark.parametrize("backend", BOTH)
def test_nothing_is_written_over_what_was_not_seen(moto: Bucket, backend: Backend) -> None:
    how, url = access(moto, backend), moto.at(f"{backend}.txt")
    with remote_file(url, how.storage_options, NEW) as sink:
        sink.write(b"one")
    with pytest.raises(Overtaken), remote_file(url, how.storage_options, NEW) as sink:
        sink.write(b"two")
    seen = version_of(url, how)
    folder = RemoteFolder(moto.at(""), how.storage_options)
    folder.put(f"{backend}.txt", b"three", seen)
    with pytest.raises(Overtaken):
        folder.put(f"{backend}.txt", b"four", seen)
    assert bytes(how.open(url).read_all()) == b"three"


def _overtaken(
    url: str, how: Access, other: str, patch: pytest.MonkeyPatch, real: Any, calls: list[int], *given: Any
) -> Any:
    found = real(*given)
    calls.append(1)
    if len(calls) == 1:
        with patch.context() as inside:
            inside.setattr("byteatlas.api.appending._added", real)
            inside.setattr("byteatlas.io.writing.leases.compares", lambda living: False)
            ba.append(url, [other], "time", access=how)
    return found


def test_what_others_wrote_is_read_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer without the lock comes between reading and writing."""
    from byteatlas.api import appending

    with s3_subset() as bucket:
        first, second, third = archives(tmp_path, 3)
        for name in ("all.json", "all.parquet"):
            how, url = access(bucket), bucket.at(name)
            ba.write(ba.scan(first), url, access=how)
            real, calls = appending._added, list[int]()

            monkeypatch.setattr(appending, "_added", partial(_overtaken, url, how, second, monkeypatch, real, calls))
            ba.append(url, [third], "time", access=how)
            monkeypatch.setattr(appending, "_added", real)
            opened: Any = ba.open(url, access=how)
            assert opened["x"][...].tolist() == [0, 1, 2]
        assert not [key for key in bucket.objects if "lock" in key]


def test_who_waits_too_long_is_told_and_what_was_left_is_taken_over() -> None:
    with s3_subset() as bucket:
        how, url = access(bucket), bucket.at("all.json")
        with one_writer(url, how), pytest.raises(ba.Conflict, match="by others"), one_writer(url, how, 0.05):
            pass
        assert not bucket.objects
        bucket.objects[".all.json.lock"] = b"left behind"
        with one_writer(url, how, 5.0, lease=0.2) as renew:
            assert bucket.objects[".all.json.lock"] != b"left behind"
            bucket.objects[".all.json.lock"] = b"taken over"
            time.sleep(0.1)
            with pytest.raises(Overtaken):
                renew()
        assert bucket.objects[".all.json.lock"] == b"taken over", "what belongs to others stays"


def test_a_server_without_conditions_is_found_out() -> None:
    with s3_subset() as bucket:
        how = access(bucket)
        bucket.ignores_conditions = True
        with one_writer(bucket.at("all.json"), how):
            assert not bucket.objects, "nothing is held"
