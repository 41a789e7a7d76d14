"""The beginning of a remote file and its size come with one request; small files with no more than that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.http_server import serve
from tests.s3_servers import s3_subset

import byteatlas as ba
from byteatlas.errors import FetchFailed, NotFound
from byteatlas.io.access import Access
from byteatlas.io.sources.layers import BlockCache
from byteatlas.types import ByteRange

h5py = pytest.importorskip("h5py")
PLACES = ("http", "obstore", "s3fs")
BLOCK = 1000


@contextmanager
def there(place: str, files: Mapping[str, bytes], **more: Any) -> Iterator[tuple[str, Access]]:
    """A server of some files: what stands before their names, and how they are reached."""
    if place == "http":
        with serve({f"/{name}": data for name, data in files.items()}) as web:
            yield f"{web.url}/", Access(**more)
    else:
        pytest.importorskip(place)
        with s3_subset(files) as bucket:
            backend: Any = "obstore" if place == "obstore" else "fsspec"
            yield bucket.at(""), Access(bucket.options(), backend=backend, **more)


@pytest.mark.parametrize(
    ("place", "size"),
    [*[(place, size) for place in PLACES[:2] for size in (1, 999, 1000, 1001, 5000, 20_000)], ("s3fs", 999)],
)
def test_warm_caches_read_right(place: str, size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    with there(place, {"a.bin": data}) as (base, access):
        cache = BlockCache(access.open(f"{base}a.bin"), BLOCK)
        cache.warm()
        requests = access.counters.requests
        assert requests == (1 if place != "s3fs" else 2)
        assert access.counters.retries == 0
        assert cache.size() == size
        assert bytes(cache.read([ByteRange(0, min(size, BLOCK))])[0]) == data[:BLOCK]
        assert access.counters.requests == requests or place == "s3fs"
        where = [ByteRange(0, size), ByteRange(size // 2, size - size // 2), ByteRange(size - 1, 1)]
        assert [bytes(d) for d in cache.read(where)] == [data[w.offset : w.end] for w in where]
        assert access.counters.wanted == min(size, BLOCK) + sum(w.length for w in where)


@pytest.mark.parametrize("place", PLACES)
def test_empty_and_absent_files(place: str) -> None:
    with there(place, {"empty": b""}) as (base, access):
        cache = BlockCache(access.open(f"{base}empty"), BLOCK)
        cache.warm()
        assert cache.size() == 0
        with pytest.raises(FetchFailed) as failed:
            BlockCache(access.open(f"{base}nothing"), BLOCK).warm()
        assert failed.value.absent


@pytest.mark.parametrize("place", PLACES[:2])
def test_a_small_file_takes_two_requests(place: str, tmp_path: Any) -> None:
    """A few hundred kilobytes: whatever the file's structure is like, all of it comes after the first block."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        for k in range(20):
            file.create_dataset(f"group{k}/data", data=np.random.default_rng(k).bytes(20_000), dtype="S20000")
    data = (tmp_path / "a.h5").read_bytes()
    assert 300_000 < len(data) < 1 << 20
    with there(place, {"a.h5": data}, gaps="fixed") as (base, access):
        ba.scan(f"{base}a.h5", access=access)
        assert access.counters.requests == 2
        assert access.counters.fetched <= len(data) + (64 << 10)


def _files(folder: Any, count: int) -> dict[str, bytes]:
    files = {}
    for k in range(count):
        with h5py.File(folder / "one.h5", "w") as file:
            file["time"] = np.array([k], "i4")
            file["time"].make_scale()
            file["x"] = np.full((1, 16), float(k))
            file["x"].dims[0].attach_scale(file["time"])
        files[f"many/{k:03d}.h5"] = (folder / "one.h5").read_bytes()
    return files


def test_many_small_objects_take_two_requests_each(tmp_path: Any) -> None:
    """One for the file, one for the values of its coordinate."""
    with there("obstore", _files(tmp_path, 40)) as (base, access):
        tree: Any = ba.combine(f"{base}many/*.h5", "time", access=access)
        assert access.counters.requests == 80
        assert (ba.open(tree)["x"][:, 3] == np.arange(40)).all()
        assert (ba.open(tree)["time"][...] == np.arange(40)).all()


def test_the_first_file_that_fails_is_named(tmp_path: Any) -> None:
    files = _files(tmp_path, 10)
    with there("obstore", files) as (base, access):
        names = [f"{base}{name}" for name in files]
        names[4], names[7] = f"{base}many/gone.h5", f"{base}many/lost.h5"
        with pytest.raises((FetchFailed, NotFound), match=r"gone\.h5"):
            ba.combine(names, "time", access=access)


def test_names_of_archives_that_hold_maps(tmp_path: Any) -> None:
    """A name may be wrong: what no scanner knows is looked at."""
    import json

    files = _files(tmp_path, 3)
    with serve({f"/{name}": data for name, data in files.items()}) as web:
        refs: dict[str, Any] = {}
        ba.write(ba.scan(f"{web.url}/many/002.h5"), refs)
        with serve({"/map.nc": json.dumps(refs).encode()}) as other:
            names = [f"{web.url}/many/000.h5", f"{web.url}/many/001.h5", f"{other.url}/map.nc"]
            tree: Any = ba.combine(names, "time")
            assert (ba.open(tree)["time"][...] == np.arange(3)).all()
