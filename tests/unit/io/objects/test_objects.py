"""Objects through obstore and s3fs: the same bytes, the same errors, and every answer is checked."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from tests.s3_servers import KEY, SECRET, Bucket, moto_s3, s3_subset

import byteatlas as ba
from byteatlas.errors import BadRequest, FetchFailed, SourceChanged
from byteatlas.io.access import Access
from byteatlas.io.globbing import expanded
from byteatlas.io.retry import Retry
from byteatlas.io.sources.filesystem import file_system
from byteatlas.io.sources.objects.system import ObjectSystem
from byteatlas.store.remote import RemoteStore
from byteatlas.types import ByteRange

DATA = np.random.default_rng(1).bytes(100_000)
QUICK = Retry(wait=0.01)
Backend = Literal["obstore", "fsspec"]
BOTH: tuple[Backend, ...] = ("obstore", "fsspec")


@pytest.fixture(scope="module")
def moto() -> Iterator[Bucket]:
    with moto_s3() as bucket:
        yield bucket


@pytest.fixture
def ours() -> Iterator[Bucket]:
    with s3_subset({"a.bin": DATA}) as bucket:
        yield bucket


def access(bucket: Bucket, backend: Backend | None = "obstore", **more: Any) -> Access:
    return Access(bucket.options(**more), backend=backend, retry=QUICK)


@pytest.mark.parametrize("backend", BOTH)
def test_written_read_listed_and_removed(moto: Bucket, backend: Backend) -> None:
    how = access(moto, backend)
    root = moto.at(f"{backend}/tree")
    store = RemoteStore(root, how, writable=True)
    for key in ("a", "b c/ü%41", "b c/d/e"):
        store.set(key, key.encode() * 100)
    assert store.get("b c/ü%41") == "b c/ü%41".encode() * 100
    assert store.get("nothing") is None
    assert store.source("nothing") is None
    assert store.names("") == ["a", "b c"]
    assert store.names("b c") == ["d", "ü%41"]
    assert not store.names("nothing")
    assert sorted(store.keys_below("")) == ["a", "b c/d/e", "b c/ü%41"]
    assert expanded(f"{root}/b c/*/e", how.storage_options) == [f"{root}/b c/d/e"]
    assert expanded(f"{root}/*", how.storage_options)[0] == f"{root}/a"
    source = store.source("a")
    assert source is not None
    assert (source.size(), [bytes(d) for d in source.read([ByteRange(0, 2), ByteRange(99, 1), ByteRange(5, 0)])]) == (
        100, [b"aa", b"a", b""],
    )  # fmt: skip
    store.delete("a")
    store.delete("a")
    assert store.get("a") is None


def test_obstore_is_preferred_and_can_be_refused(ours: Bucket) -> None:
    for backend, through in ((None, True), ("obstore", True), ("fsspec", False)):
        living, path = file_system(ours.at("a.bin"), access(ours, backend).storage_options)  # type: ignore[arg-type]
        assert isinstance(living(), ObjectSystem) is through
        assert path == "bucket/a.bin"


@pytest.mark.parametrize("backend", BOTH)
def test_sources_go_to_other_processes(ours: Bucket, backend: Backend) -> None:
    source = access(ours, backend).open(ours.at("a.bin"))
    source.size()
    again = pickle.loads(pickle.dumps(source))
    asked = len(ours.requests)
    assert again.size() == len(DATA)
    if backend == "obstore":
        assert len(ours.requests) == asked
    assert bytes(again.read_all()) == DATA


@pytest.mark.parametrize("backend", BOTH)
def test_what_is_absent_and_what_is_not(ours: Bucket, backend: Backend) -> None:
    how = access(ours, backend)
    for call in ("size", "read_all"):
        with pytest.raises(FetchFailed) as found:
            getattr(how.open(ours.at("nothing")), call)()
        assert found.value.absent
        with pytest.raises(FetchFailed) as found:
            getattr(how.open("s3://other-bucket/a.bin"), call)()
        if backend == "obstore":  # botocore's HEAD does not tell
            assert not found.value.absent
            assert "no such bucket" in str(found.value)


@pytest.mark.parametrize("backend", BOTH)
def test_denied_says_what_may_help(ours: Bucket, backend: Backend) -> None:
    ours.keys = {"somebody else"}
    with pytest.raises(FetchFailed, match=r"'anon': True") as found:
        access(ours, backend).open(ours.at("a.bin")).read([ByteRange(0, 10)])
    assert found.value.denied
    assert not found.value.absent
    assert SECRET not in str(found.value)
    assert len(ours.requests) < 4, "nobody asks again for what is denied"


def test_a_dead_endpoint_is_an_error_of_ours() -> None:
    for backend in BOTH:
        how = Access({"anon": True, "endpoint_url": "http://127.0.0.1:9"}, backend=backend, retry=Retry(2, 0.01))
        with pytest.raises(FetchFailed) as found:
            how.open("s3://bucket/a").size()
        assert found.value.transient
        assert not found.value.absent


@pytest.mark.parametrize("kind", ["cut", "close", "503", "500", "429", "other place", "whole"])
@pytest.mark.parametrize("times", [1, 2])
def test_faults_that_pass(ours: Bucket, kind: str, times: int) -> None:
    source = access(ours).open(ours.at("a.bin"))
    left = [times]

    def plan(number: int, method: str, path: str) -> str | None:
        left[0] -= 1
        return kind if left[0] >= 0 else None

    ours.plan = plan
    ranges = [ByteRange(k * 1000, 500) for k in range(8)]
    assert [bytes(d) for d in source.read(ranges)] == [DATA[r.offset : r.end] for r in ranges]
    assert len(ours.requests) == 8 + times, "only what failed is asked for again"


@pytest.mark.parametrize("kind", ["cut", "close", "503", "403", "other place", "whole"])
def test_faults_that_stay_are_errors_with_their_place(ours: Bucket, kind: str) -> None:
    source = access(ours).open(ours.at("a.bin"))
    ours.plan = lambda number, method, path: kind
    with pytest.raises(FetchFailed) as found:
        source.read([ByteRange(7, 9)])
    assert found.value.range == ByteRange(7, 9)
    assert not found.value.absent
    assert ours.at("a.bin") in str(found.value)
    assert "Debug" not in str(found.value)


@pytest.mark.parametrize("kind", ["other etag", "other size"])
def test_a_replaced_object_is_noticed(ours: Bucket, kind: str) -> None:
    source = access(ours).open(ours.at("a.bin"))
    source.read([ByteRange(0, 10)])
    ours.plan = lambda number, method, path: kind
    with pytest.raises(SourceChanged):
        source.read([ByteRange(20, 10)])


def test_what_lies_beyond_the_end(ours: Bucket) -> None:
    source = access(ours).open(ours.at("a.bin"))
    for where in (ByteRange(len(DATA) - 5, 10), ByteRange(len(DATA), 1), ByteRange(-1, 5)):
        with pytest.raises(FetchFailed) as found:
            source.read([where])
        assert not found.value.transient


def test_a_stalled_server_is_an_error_in_time(ours: Bucket) -> None:
    ours.plan = lambda number, method, path: "stall"
    how = Access(ours.options(), backend="obstore", retry=Retry(2, 0.01, deadline=0.5))
    with pytest.raises(FetchFailed, match="no answer within"):
        how.open(ours.at("a.bin")).read([ByteRange(0, 10)])
    with pytest.raises(FetchFailed, match="no answer within"):
        how.open(ours.at("a.bin")).size()


def test_the_region_is_found(ours: Bucket) -> None:
    ours.region = "eu-north-1"
    how = access(ours)
    source = how.open(ours.at("a.bin"))
    assert bytes(source.read([ByteRange(5, 5)])[0]) == DATA[5:10]
    asked = len(ours.requests)
    assert bytes(source.read([ByteRange(6, 5)])[0]) == DATA[6:11]
    assert len(ours.requests) == asked + 1, "it is found once"
    RemoteStore(ours.at("x"), how, writable=True).set("k", b"1")
    assert ours.objects["x/k"] == b"1"


@pytest.mark.parametrize("count", [2, 200])
def test_the_region_is_found_by_many_at_once(ours: Bucket, count: int) -> None:
    """Answers of the wrong region that come when it is known already are asked for again, as the first ones are."""
    ours.region = "eu-north-1"
    ranges = [ByteRange(3 * i, 2) for i in range(count)]
    found = access(ours).open(ours.at("a.bin")).read(ranges)
    assert [bytes(d) for d in found] == [DATA[r.offset : r.end] for r in ranges]


def test_keys_that_are_given_take_no_token_from_the_environment(ours: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    """The token is of other keys, and it may be of another cloud."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "hush")
    assert access(ours).open(ours.at("a.bin")).size() == len(DATA)
    assert ours.tokens == [None]
    assert access(ours, token="mine").open(ours.at("a.bin")).size() == len(DATA)
    assert ours.tokens == [None, "mine"]


def test_a_conflict_nobody_asked_about_is_an_error_of_ours(ours: Bucket) -> None:
    """409 without a condition: the bucket is being changed."""
    ours.plan = lambda number, method, path: "409" if method in ("PUT", "DELETE") else None
    store = RemoteStore(ours.at("x"), access(ours), writable=True)
    with pytest.raises(FetchFailed, match="409"):
        store.set("k", b"1")
    with pytest.raises(FetchFailed, match="409"):
        store.delete("k")


def test_maps_are_written_and_read(moto: Bucket, tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["data"] = np.arange(1000.0)
    for backend in BOTH:
        how = access(moto, backend)
        RemoteStore(moto.at(backend), how, writable=True).set("a.h5", (tmp_path / "a.h5").read_bytes())
        group = ba.scan(moto.at(f"{backend}/a.h5"), access=how)
        for name in ("a.json", "a.parquet"):
            ba.write(group, moto.at(f"{backend}/{name}"), access=how)
            opened: Any = ba.open(moto.at(f"{backend}/{name}"), access=how)
            np.testing.assert_array_equal(opened["data"][...], np.arange(1000.0))


@pytest.mark.parametrize("backend", BOTH)
def test_errors_in_writing_are_ours(ours: Bucket, tmp_path: Path, backend: Backend) -> None:
    group = ba.VirtualGroup()
    for name in ("s3://other-bucket/m.json", "s3://other-bucket/m.parquet"):
        with pytest.raises(FetchFailed):
            ba.write(group, name, access=access(ours, backend))
    ours.keys = set()
    with pytest.raises(FetchFailed) as found:
        ba.write(group, ours.at("m.json"), access=access(ours, backend))
    assert found.value.denied


def test_keys_that_obstore_cannot_name(ours: Bucket) -> None:
    ours.objects["a//b"] = b"there"
    with pytest.raises(BadRequest, match="backend='fsspec'"):
        access(ours).open(ours.at("a//b"))
    assert bytes(access(ours, None).open(ours.at("a//b")).read_all()) == b"there"


FORKED = """
import os, sys
import byteatlas as ba
from byteatlas.io.access import Access
from byteatlas.types import ByteRange
url, backend = sys.argv[1], sys.argv[2] if sys.argv[2] != "None" else None
how = Access({"key": "k", "secret": "s", "endpoint_url": url}, backend=backend)
source = how.open("s3://bucket/a.bin")
source.read([ByteRange(0, 4)])
if os.fork() == 0:
    try:
        print(bytes(how.open("s3://bucket/a.bin").read([ByteRange(0, 4)])[0]) == b"abcd")
    except Exception as error:
        print(type(error).__name__, error)
    sys.stdout.flush()
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_does_not_hang(ours: Bucket) -> None:
    ours.objects["a.bin"] = b"abcdefgh"
    for backend, said in (("obstore", "forked"), ("None", "True")):
        done = subprocess.run(
            [sys.executable, "-c", FORKED, ours.url, backend], capture_output=True, text=True, timeout=60, check=False
        )
        assert said in done.stdout, done.stdout + done.stderr


def test_secrets_are_not_shown(ours: Bucket) -> None:
    how = access(ours)
    shown = repr(how) + repr(how.open(ours.at("a.bin"))) + repr(how.storage_options)
    assert KEY not in shown
    assert SECRET not in shown


WRONG_ANSWERS = ("other place", "other etag", "other size", "no content-range", "broken content-range", "whole",
                 "shorter part", "longer body")  # fmt: skip


@pytest.mark.parametrize("kind", WRONG_ANSWERS)
@pytest.mark.parametrize("backend", BOTH)
def test_answers_that_are_not_the_part_are_no_data(ours: Bucket, backend: Backend, kind: str) -> None:
    ours.objects["part.bin"] = bytes(range(200))
    source = Access(ours.options(), backend=backend, retry=QUICK).open(ours.at("part.bin"))
    source.size()
    ours.plan = lambda number, method, path: kind
    try:
        with pytest.raises((FetchFailed, SourceChanged)):
            source.read([ByteRange(10, 20)])
    finally:
        ours.plan = lambda number, method, path: None
    assert bytes(source.read([ByteRange(10, 20)])[0]) == bytes(range(10, 30))


@pytest.mark.parametrize("backend", BOTH)
def test_a_head_that_was_packed_lies_about_the_size(ours: Bucket, backend: Backend) -> None:
    """A proxy that packs says how long the packed file is: what is read must not end there."""
    ours.objects["part.bin"] = bytes(20_000)
    source = Access(ours.options(), backend=backend, retry=QUICK).open(ours.at("part.bin"))
    ours.plan = lambda number, method, path: "gzip" if method == "HEAD" else None
    try:
        with pytest.raises((FetchFailed, SourceChanged)):
            source.read([ByteRange(0, min(10, source.size()))])
    finally:
        ours.plan = lambda number, method, path: None
