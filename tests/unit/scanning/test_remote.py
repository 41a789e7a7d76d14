"""Scanning over HTTP: rounds of requests follow the depth of a file's structure, not the number of its variables."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.archives import small_archive
from tests.http_server import Served, serve

import byteatlas as ba
from byteatlas.array import Group
from byteatlas.errors import FetchFailed
from byteatlas.io.open import open_source
from byteatlas.io.sources.layers import BlockCache
from byteatlas.io.sources.memory import MemorySource
from byteatlas.scanning.contract import ScanOptions
from byteatlas.scanning.driver import scan_source
from byteatlas.scanning.plugins import installed
from byteatlas.types import Buffer, ByteRange

netCDF4 = pytest.importorskip("netCDF4")  # noqa: N816


@dataclass
class Rounds:
    """A remote source that counts the times it is asked, however much is asked for at a time."""

    data: bytes
    url: str = "memory://file.nc"
    asked: list[int] = field(default_factory=list)
    sizes: int = 0

    def size(self) -> int:
        self.sizes += 1
        return len(self.data)

    def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
        self.asked.append(len(ranges))
        return MemorySource(self.data, self.url).read(ranges)

    def read_all(self) -> Buffer:
        return self.data


def many_variables(path: Path, variables: int) -> bytes:
    with netCDF4.Dataset(path, "w") as file:
        for name, n in (("time", None), ("lat", 64), ("lon", 128)):
            file.createDimension(name, n)
            file.createVariable(name, "f8", (name,)).setncatts({"units": name, "axis": "X"})
        for i in range(variables):
            made = file.createVariable(
                f"v{i}", "f4", ("time", "lat", "lon"), zlib=True, complevel=1, chunksizes=(1, 64, 128)
            )
            made.setncatts({f"attribute_{j}": f"text {i} {j}" for j in range(10)})
            made[:] = [[[i]]] * 40
    return path.read_bytes()


def test_rounds_do_not_grow_with_variables(tmp_path: Path) -> None:
    rounds = []
    for variables in (2, 24, 60):
        source = Rounds(many_variables(tmp_path / f"{variables}.nc", variables))
        found = scan_source(source, open_source, installed(), ScanOptions())
        assert len(found.arrays) == variables + 3
        rounds.append(len(source.asked))
    # Structures of a larger file lie in more blocks and up to three levels deeper: not a round for every variable.
    assert rounds[1] <= rounds[0] + 3
    assert rounds[1] <= 8
    assert rounds[2] <= 8


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    pytest.importorskip("aiohttp")
    file = small_archive()[0]
    with serve({"/a.nc": file.read_bytes(), "/tiny.nc": b"CDF\x01" + bytes(28)}) as server:
        yield server


def test_remote_equals_local(served: Served) -> None:
    remote, local = ba.open(f"{served.url}/a.nc"), ba.open(small_archive()[0])
    assert isinstance(remote, Group)
    assert isinstance(local, Group)
    for name, array in local.arrays().items():
        assert (remote.arrays()[name][...] == array[...]).all()


def test_files_smaller_than_a_block(served: Served) -> None:
    assert list(ba.scan(f"{served.url}/tiny.nc").arrays) == []
    with pytest.raises(FetchFailed):
        ba.scan(f"{served.url}/nothing.nc")


def test_warming_asks_at_the_same_time() -> None:
    """Both requests are under way at once: each waits for the other."""
    meet = threading.Barrier(2, timeout=5)

    class Meeting(Rounds):
        def size(self) -> int:
            if not self.sizes:
                self.sizes += 1
                meet.wait()
            return len(self.data)

        def read(self, ranges: Sequence[ByteRange]) -> list[Buffer]:
            if not self.asked:
                meet.wait()
            return super().read(ranges)

    source = Meeting(bytes(range(200)))
    cache = BlockCache(source, block=64)
    cache.warm()
    assert bytes(cache.read([ByteRange(3, 2)])[0]) == b"\3\4"
    assert source.asked == [1]
