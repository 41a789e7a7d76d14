"""Sources: local files, memory, fsspec, and the wrappers around them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from byteatlas.errors import FetchFailed, Forbidden
from byteatlas.io.local import LocalSource, local_path
from byteatlas.io.open import SourcePool, open_source
from byteatlas.io.policy import Policy
from byteatlas.io.retry import Retry, Retrying
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import BlockCache, Coalescing, Counting, coalesce
from byteatlas.io.sources.memory import MemorySource
from byteatlas.io.sources.remote import FsspecSource
from byteatlas.io.storage_options import StorageOptions
from byteatlas.io.urls import join, split
from byteatlas.types import Buffer, ByteRange

DATA = bytes(range(256)) * 40


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a b.bin"
    path.write_bytes(DATA)
    return path


def test_local_reads_exact_ranges(file: Path) -> None:
    source = LocalSource(str(file))
    assert source.size() == len(DATA)
    assert source.read([ByteRange(3, 5), ByteRange(0, 0), ByteRange(len(DATA) - 1, 1)]) == [DATA[3:8], b"", DATA[-1:]]
    assert source.read_all() == DATA
    assert source.stamp() == str(file.stat().st_mtime_ns)


def test_local_takes_file_urls(file: Path) -> None:
    assert local_path(file.as_uri()) == str(file)
    assert LocalSource(file.as_uri()).read([ByteRange(0, 2)]) == [DATA[:2]]


def test_local_reads_into_a_buffer(file: Path) -> None:
    out = bytearray(100)
    LocalSource(str(file)).read_into(50, memoryview(out))
    assert out == DATA[50:150]


@pytest.mark.parametrize(
    "where", [ByteRange(len(DATA) - 1, 2), ByteRange(-1, 1), ByteRange(0, -1), ByteRange(1 << 62, 1)]
)
@pytest.mark.parametrize("kind", ["local", "memory", "blocks", "fsspec"])
def test_a_range_outside_the_file_raises(file: Path, where: ByteRange, kind: str) -> None:
    sources: dict[str, Source] = {
        "local": LocalSource(str(file)),
        "memory": MemorySource(DATA),
        "blocks": BlockCache(MemorySource(DATA), 64),
        "fsspec": FsspecSource(f"local://{file}"),
    }
    with pytest.raises(FetchFailed):
        sources[kind].read([where])


def test_a_missing_file_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(FetchFailed, match=r"nowhere\.nc: No such file"):
        LocalSource(str(tmp_path / "nowhere.nc"))


def test_a_shrunk_file_raises_instead_of_reading_short(file: Path) -> None:
    source = LocalSource(str(file))
    file.write_bytes(DATA[:100])
    with pytest.raises(FetchFailed, match="only 50 bytes are there"):
        source.read([ByteRange(50, 100)])


def test_many_threads_share_one_local_source(file: Path) -> None:
    source, wrong = LocalSource(str(file)), []

    def work(start: int) -> None:
        for i in range(start, len(DATA) - 16, 97):
            if source.read([ByteRange(i, 16)]) != [DATA[i : i + 16]]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_coalescing_merges_near_ranges_and_cuts_them_out_again() -> None:
    counted = Counting(MemorySource(DATA))
    asks = [ByteRange(500, 10), ByteRange(0, 10), ByteRange(20, 10), ByteRange(25, 30), ByteRange(5000, 10)]
    found = Coalescing(counted, gap=16, block=1000).read(asks)
    assert [bytes(f) for f in found] == [DATA[a.offset : a.end] for a in asks]
    assert counted.counts.requests == 3


def test_coalescing_respects_the_block_size() -> None:
    merged, owner = coalesce([ByteRange(i * 10, 10) for i in range(10)], gap=0, block=30)
    assert [m.length for m in merged] == [30, 20, 30, 20]  # as few as there must be, of about the same size
    assert owner == [0, 0, 0, 1, 1, 2, 2, 2, 3, 3]


def test_blocks_are_fetched_once_and_dropped_when_there_are_too_many() -> None:
    counted = Counting(MemorySource(DATA))
    cache = BlockCache(counted, block=64, capacity=64 * 4)
    for _ in range(3):
        assert bytes(cache.read([ByteRange(60, 10)])[0]) == DATA[60:70]
    assert (counted.counts.calls, counted.counts.bytes) == (1, 128)
    cache.read([ByteRange(640, 200)])
    assert bytes(cache.read([ByteRange(60, 10)])[0]) == DATA[60:70]
    assert counted.counts.calls == 3


def test_large_ranges_bypass_the_block_cache() -> None:
    counted = Counting(MemorySource(DATA))
    found = BlockCache(counted, block=64).read([ByteRange(1, 5000), ByteRange(9000, 3)])
    assert [bytes(f) for f in found] == [DATA[1:5001], DATA[9000:9003]]
    assert counted.counts.calls == 1


@dataclass
class Flaky:
    """Fails a number of times before it answers."""

    failures: int
    transient: bool = True
    url: str = "flaky:"
    tried: list[int] = field(default_factory=list)

    def size(self) -> int:
        return 4

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.tried.append(1)
        if len(self.tried) <= self.failures:
            raise FetchFailed(self.url, "503", transient=self.transient)
        return [b"data"]

    def read_all(self) -> Buffer:
        return b"data"


def test_transient_failures_are_tried_again() -> None:
    naps: list[float] = []
    assert Retrying(Flaky(2), sleep=naps.append).read([ByteRange(0, 4)]) == [b"data"]
    assert 0.05 <= naps[0] <= 0.1 <= naps[1] <= 0.2


def test_final_failures_are_not_tried_again() -> None:
    flaky = Flaky(9, transient=False)
    with pytest.raises(FetchFailed):
        Retrying(flaky, sleep=lambda _: None).read([ByteRange(0, 4)])
    assert len(flaky.tried) == 1


def test_retrying_gives_up() -> None:
    flaky = Flaky(9)
    with pytest.raises(FetchFailed):
        Retrying(flaky, Retry(tries=3), sleep=lambda _: None).read([ByteRange(0, 4)])
    assert len(flaky.tried) == 3


def test_fsspec_source_reads_ranges_and_tells_size(file: Path) -> None:
    source = FsspecSource(f"local://{file}")
    assert source.size() == len(DATA)
    assert source.read([ByteRange(7, 3), ByteRange(1000, 24)]) == [DATA[7:10], DATA[1000:1024]]
    assert source.read_all() == DATA
    with pytest.raises(FetchFailed) as caught:
        FsspecSource(f"local://{file}.no").size()
    assert caught.value.absent


def test_an_unknown_protocol_is_a_clear_error() -> None:
    with pytest.raises(FetchFailed, match="nosuch"):
        open_source("nosuch://bucket/key")


def test_the_pool_keeps_and_drops_sources(tmp_path: Path) -> None:
    for i in range(4):
        (tmp_path / str(i)).write_bytes(b"x")
    pool = SourcePool(most=2)
    first = pool(str(tmp_path / "0"))
    assert pool(str(tmp_path / "0")) is first
    for i in range(1, 4):
        pool(str(tmp_path / str(i)))
    assert first.read([ByteRange(0, 1)]) == [b"x"]
    assert pool(str(tmp_path / "0")) is not first


def test_options_by_prefix() -> None:
    options = StorageOptions.of({"anon": True, "s3://a": {"anon": False}, "s3://a/b": {"key": "k"}})
    assert options.for_url("s3://c/x") == {"anon": True}
    assert options.for_url("s3://a/x") == {"anon": False}
    assert options.for_url("s3://a/b/x") == {"anon": True, "key": "k"}


@pytest.mark.parametrize(
    ("policy", "url", "fine"),
    [
        (Policy(), "/etc/passwd", True),
        (Policy(local=False), "/etc/passwd", False),
        (Policy(local=False), "file:///etc/passwd", False),
        (Policy(local=False, allow=("/data",)), "/data/x.nc", True),
        (Policy(local=False, allow=("/data",)), "/data/../etc/passwd", False),
        (Policy(allow=("s3://a/b",)), "s3://a/bc", False),
        (Policy(allow=("s3://a/b",)), "s3://a/b/c", True),
        (Policy(allow=("s3://a/b",)), "s3://a/b/../c", False),
        (Policy(deny=("/data/secret",)), "/data/./secret/x", False),
    ],
)
def test_policy(policy: Policy, url: str, fine: bool) -> None:
    if fine:
        policy.check(url)
    else:
        with pytest.raises(Forbidden):
            policy.check(url)


@pytest.mark.parametrize(
    ("base", "url", "full"),
    [
        ("/maps/a.json", "x.nc", "/maps/x.nc"),
        ("/maps/a.json", "../x.nc", "/x.nc"),
        ("/a.json", "x.nc", "/x.nc"),
        ("a.json", "x.nc", "x.nc"),
        ("https://host/d/a.json", "x.nc", "https://host/d/x.nc"),
        ("https://host/d/a.json", "/x.nc", "https://host/x.nc"),
        ("https://host/d/a.json", "s3://b/x.nc", "s3://b/x.nc"),
        ("https://host/a.json", "../../x.nc", "https://host/x.nc"),
        ("file:///maps/a.json", "x.nc", "file:///maps/x.nc"),
    ],
)
def test_join(base: str, url: str, full: str) -> None:
    assert join(base, url) == full


def test_one_spelling_keeps_the_protocol() -> None:
    assert str(split("s3://bucket/a/./b/../c")) == "s3://bucket/a/c"
