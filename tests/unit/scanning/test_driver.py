"""Parsers ask, the driver answers: batches, other files, faults, rounds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from byteatlas.errors import CorruptFile, FetchFailed, FileFault, Forbidden, Unsupported
from byteatlas.io.open import SourcePool
from byteatlas.io.policy import Policy
from byteatlas.io.sources.layers import BlockCache, Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import SourceInfo, VirtualGroup
from byteatlas.scanning.contract import Elsewhere, FirstBytes, Parse, Scanner, ScanOptions, Stat
from byteatlas.scanning.driver import pick, recognise, run, scan_source
from byteatlas.scanning.parsers import buffers, gather, one, read, stat
from byteatlas.types import ByteRange

DATA = bytes(range(256)) * 16


def follow(start: int, steps: int) -> Parse[int]:
    """Each byte says where the next one is."""
    at = start
    for _ in range(steps):
        at = (yield from one(ByteRange(at, 1)))[0] + 1
    return at


def bad() -> Parse[int]:
    yield from one(ByteRange(10**6, 4))
    return 0


def test_gathered_parsers_share_rounds() -> None:
    counted = Counting(MemorySource(DATA))
    source = BlockCache(counted, block=16)
    found = run(gather([follow(i, 3) for i in range(0, 200, 20)]), source, SourcePool())
    assert found == [i + 3 for i in range(0, 200, 20)]
    assert counted.counts.calls <= 3


def test_one_bad_parser_does_not_take_its_neighbours_down() -> None:
    found = run(gather([follow(0, 2), bad(), follow(9, 1)]), MemorySource(DATA), SourcePool())
    assert found[0] == 2
    assert found[2] == 10
    assert isinstance(found[1], CorruptFile)


def test_a_parser_may_catch_a_fault_of_the_file() -> None:
    def careful() -> Parse[str]:
        try:
            yield from one(ByteRange(10**6, 4))
        except CorruptFile:
            return bytes((yield from one(ByteRange(0, 3)))).hex()
        return "no error"

    assert run(careful(), MemorySource(DATA), SourcePool()) == "000102"
    assert run(gather([careful()]), MemorySource(DATA), SourcePool()) == ["000102"]


def test_a_range_outside_the_file_names_the_file() -> None:
    with pytest.raises(CorruptFile, match=r"a\.h5, byte 1000000"):
        run(bad(), MemorySource(DATA, "a.h5"), SourcePool())


def test_huge_requests_are_refused_before_anything_is_read() -> None:
    def greedy() -> Parse[int]:
        yield from read([ByteRange(0, 4000)] * 1_000_000)
        return 0

    with pytest.raises(CorruptFile, match="2 GiB"):
        run(greedy(), MemorySource(DATA), SourcePool())


def test_other_files_are_found_beside_the_first(tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(b"0123456789")

    def external() -> Parse[Any]:
        info, missing = yield (Stat("raw.bin"), Stat("no.bin"))
        data, own = buffers((yield (Elsewhere("raw.bin", ByteRange(2, 3)), ByteRange(0, 2))))
        return info, missing, bytes(data), bytes(own)

    found = run(external(), MemorySource(DATA, f"{tmp_path}/main.h5"), SourcePool())
    stamp = str((tmp_path / "raw.bin").stat().st_mtime_ns)
    assert found == (SourceInfo(f"{tmp_path}/raw.bin", 10, stamp), None, b"234", b"\x00\x01")


def test_the_policy_reaches_the_parser(tmp_path: Path) -> None:
    def external() -> Parse[str]:
        try:
            yield from one(Elsewhere("file:///etc/hostname", ByteRange(0, 1)))
        except Forbidden as error:
            return error.url
        return "read"

    pool = SourcePool(policy=Policy(local=False))
    assert run(external(), MemorySource(DATA, "https://host/a.h5"), pool) == "file:///etc/hostname"


class Fake(Scanner):
    """A format whose files begin with FAKE."""

    name, suffixes = "fake", (".fake",)

    def sniff(self, first: FirstBytes) -> bool:
        return first.data.startswith(b"FAKE")

    def scan(self, source: SourceInfo, options: ScanOptions) -> Parse[VirtualGroup]:
        yield from one(ByteRange(0, 4))
        return VirtualGroup()


def test_the_format_is_found_by_its_first_bytes() -> None:
    assert scan_source(MemorySource(b"FAKE"), SourcePool(), {"fake": Fake()}, ScanOptions()) == VirtualGroup()
    with pytest.raises(Unsupported, match="installed: fake"):
        scan_source(MemorySource(b"REAL"), SourcePool(), {"fake": Fake()}, ScanOptions())
    with pytest.raises(Unsupported, match="no scanner for format 'x'"):
        pick({"fake": Fake()}, FirstBytes(b"FAKE", "f"), "x")


class Deep(Fake):
    """A format that begins with FAKE somewhere."""

    name = "deep"

    def search(self, source: SourceInfo) -> Parse[bool]:
        size = source.size or 0
        return b"FAKE" in bytes((yield from one(ByteRange(0, size))))


def test_the_format_is_searched_for_when_the_first_bytes_do_not_say() -> None:
    scanners: dict[str, Scanner] = {"fake": Fake(), "deep": Deep()}
    deep = MemorySource(bytes(5000) + b"FAKE")
    assert recognise(deep, SourcePool(), scanners) is scanners["deep"]
    assert recognise(MemorySource(b"FAKE" + bytes(5000)), SourcePool(), scanners) is scanners["fake"]
    with pytest.raises(Unsupported, match="installed: deep, fake"):
        recognise(MemorySource(bytes(5000)), SourcePool(), scanners)


def test_an_empty_file_is_a_clear_error() -> None:
    with pytest.raises(CorruptFile, match="empty"):
        scan_source(MemorySource(b""), SourcePool(), {"fake": Fake()}, ScanOptions())


def test_gather_passes_foreign_errors_through() -> None:
    def broken() -> Parse[int]:
        yield (ByteRange(0, 1),)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(gather([broken()]), MemorySource(DATA), SourcePool())


def test_network_failures_are_not_taken_for_missing_files() -> None:
    class Down:
        url = "https://host/x"

        def size(self) -> int:
            raise FetchFailed(self.url, "503")

        def read(self, ranges: Sequence[ByteRange]) -> list[Any]:
            raise FetchFailed(self.url, "503")

        def read_all(self) -> bytes:
            raise FetchFailed(self.url, "503")

    def ask() -> Parse[object]:
        try:
            return (yield from stat("https://host/x"))
        except FileFault:
            return None

    with pytest.raises(FetchFailed, match="503"):
        run(ask(), MemorySource(DATA), lambda url: Down())
