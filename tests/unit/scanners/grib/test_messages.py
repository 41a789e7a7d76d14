"""Finding messages: chains, what stands between them, damage, index files, rounds of requests."""

from __future__ import annotations

import random

import pytest
from tests.places import FIXTURES
from tests.scanning import scan_bytes

from byteatlas.errors import CorruptFile, FetchFailed, Unsupported
from byteatlas.io.source import Source
from byteatlas.io.sources.layers import Counting
from byteatlas.io.sources.memory import MemorySource
from byteatlas.manifest.model import VirtualArray, VirtualGroup
from byteatlas.scanning.contract import FirstBytes, ScanOptions
from byteatlas.scanning.driver import recognise, run, scan_source
from byteatlas.testing.fingerprint import fingerprint
from byteatlas_scanners.grib import SCANNER
from byteatlas_scanners.grib.messages.chain import MessageChain
from byteatlas_scanners.grib.messages.find import find_messages
from byteatlas_scanners.grib.messages.indicator import indicator, large_length
from byteatlas_scanners.grib.sidecars.entries import names_of, offsets

GFS = (FIXTURES / "grib" / "gfs.grib2").read_bytes()
ERA = (FIXTURES / "grib" / "era.grib1").read_bytes()
BULLETINS = (FIXTURES / "grib" / "bulletins.grib").read_bytes()


def found_in(data: bytes, *, far: bool = False) -> MessageChain:
    source = MemorySource(data, "memory://file")
    return run(find_messages(len(data), far=far), source, lambda url: source, block=0)


def places(data: bytes, *, far: bool = False) -> list[int]:
    return [message.offset for message in found_in(data, far=far).messages]


@pytest.mark.parametrize("far", [False, True])
def test_all_messages_are_found(far: bool) -> None:
    assert len(places(GFS, far=far)) == 19
    assert len(places(ERA, far=far)) == 5
    both = ERA + GFS
    assert places(both, far=far) == [*places(ERA), *[len(ERA) + at for at in places(GFS)]]


@pytest.mark.parametrize("far", [False, True])
def test_anything_may_stand_between_messages(far: bool) -> None:
    found = found_in(BULLETINS, far=far)
    assert [message.edition for message in found.messages] == [1, 2]
    assert [damaged.offset for damaged in found.damaged] == [BULLETINS.rfind(b"GRIB")]
    assert "cut off" in str(found.damaged[0].error)


@pytest.mark.parametrize("far", [False, True])
def test_a_damaged_length_costs_one_message(far: bool) -> None:
    at = places(GFS)
    damaged = bytearray(GFS)
    damaged[at[3] + 8 : at[3] + 16] = (len(GFS) - at[3] - 9).to_bytes(8, "big")
    found = found_in(bytes(damaged), far=far)
    assert [message.offset for message in found.messages] == at[:3] + at[4:]
    assert [bad.offset for bad in found.damaged] == [at[3]]


def test_padding_of_any_length() -> None:
    for padding in (b"\0" * 3, b"\0" * 70_000, b"GRI" * 9, b"GRIB" * 50):
        assert places(padding + ERA + padding) == [len(padding) + at for at in places(ERA)]


def test_large_messages_of_edition_1() -> None:
    """The length is in units of 120 bytes; section 4 says what the last one lacks."""
    product = bytearray(28)
    product[:3] = (28).to_bytes(3, "big")
    body = bytes(product) + (7).to_bytes(3, "big") + bytes(1000)
    total = -(-(8 + len(body) + 4 - 4 + 7) // 120) * 120
    length = large_length(0x800000 | total // 120, 7)
    body += bytes(length - 8 - len(body) - 4)
    data = b"GRIB" + (0x800000 | total // 120).to_bytes(3, "big") + b"\1" + body + b"7777"
    assert len(data) == length
    assert next(message.length for message in found_in(data + ERA).messages) == length
    assert large_length(0x800001, 120) == 0x800001


def test_no_message_at_all() -> None:
    assert not SCANNER.sniff(FirstBytes(b"GRIB" + bytes(100)))
    assert indicator(b"GRIB") is None
    with pytest.raises(CorruptFile):
        scan_bytes(SCANNER, b"GRIB" + bytes(100))


# --------------------------------------------------------------------------------------- far away


def stretched(count: int, size: int) -> bytes:
    """Messages of so many bytes each: their data are longer than their values need."""
    first = places(GFS)
    one = GFS[first[0] : first[1]]
    data, at = bytearray(one), 16
    while data[at + 4] != 7:
        at += int.from_bytes(data[at : at + 4], "big")
    more = size - len(one)
    data[at : at + 4] = (int.from_bytes(data[at : at + 4], "big") + more).to_bytes(4, "big")
    data[8:16] = size.to_bytes(8, "big")
    data[-4:] = random.Random(0).randbytes(more) + b"7777"
    return bytes(data) * count


def scanned(data: bytes, others: dict[str, bytes], **own: bool) -> tuple[VirtualGroup, Counting]:
    source = Counting(MemorySource(data, "memory://far/file.grib2"))

    def opener(url: str) -> Source:
        if url not in others:
            raise FetchFailed(url, "not there", absent=True) from FileNotFoundError(url)
        return MemorySource(others[url], url)

    options = ScanOptions(extra={"grib": {**own}})
    return scan_source(source, opener, {"grib": SCANNER}, options), source


def test_an_index_makes_it_one_round() -> None:
    data = stretched(200, 100_000)
    lines = "".join(f"{k + 1}:{k * 100_000}:d=2024010100:TMP:1000 mb:6 hour fcst:\n" for k in range(200))
    group, source = scanned(data, {"memory://far/file.grib2.idx": lines.encode()})
    assert source.counts.calls <= 4
    assert source.counts.bytes < 500_000
    plain, slow = scanned(data, {}, sidecar=False)
    assert fingerprint(group) == fingerprint(plain)
    assert slow.counts.calls < 200 / 5


def test_a_wrong_index_changes_nothing() -> None:
    right = fingerprint(scanned(GFS, {}, sidecar=False)[0])
    for text in (
        "1:5:d=x:\n2:999:d=x:\n",
        '{"_offset": 77}\n{"_offset": true}\n[',
        "\xff\n",
        "1:0:d=1:A:\n3:900000:d:\n",
    ):
        index = {"memory://far/file.grib2.idx": text.encode("latin-1")}
        assert fingerprint(scanned(GFS, index)[0]) == right


def test_large_messages_are_followed_along_several_chains() -> None:
    data = stretched(60, 700_000)
    group, source = scanned(data, {}, sidecar=False)
    (array,) = [node for _, node in group.walk() if isinstance(node, VirtualArray) and node.manifest.sources][:1]
    assert array.manifest.sources
    assert sum(len(item.locators) for item in group.report) == 60
    assert source.counts.calls <= 60 / 5


def test_names_and_entries_of_indexes() -> None:
    assert names_of("s3://b/a.grib2")[-1] == "a.index"
    assert offsets(b"1:0:d=1:\n1.2:0:d=1:\n2:700:d=1:\nrubbish\n-3:-5:x:\n", 1000) == [0, 700]
    assert offsets(b'{"_offset": 3, "_length": 5}\n{"_offset": 2000}\n{"a":\n', 1000) == [3]


@pytest.mark.parametrize("junk", [5_000, 70_000, 1_200_000])
def test_rubbish_of_any_length_may_stand_before_the_first_message(junk: int) -> None:
    data = random.Random(0).randbytes(junk) + GFS
    named = "memory://file.grib2" if junk > 1 << 20 else "memory://file"
    source = MemorySource(data, named)
    assert recognise(source, lambda url: source, {"grib": SCANNER}).name == "grib"
    assert len(places(data)) == 19


def test_far_rubbish_is_looked_through_under_our_names_only() -> None:
    source = MemorySource(bytes(3 << 20) + GFS, "memory://file.bin")
    with pytest.raises(Unsupported):
        recognise(source, lambda url: source, {"grib": SCANNER})


def test_letters_are_no_message() -> None:
    source = MemorySource(bytes(5_000) + b"GRIB" * 2_000, "memory://file.grib")
    with pytest.raises(Unsupported):
        recognise(source, lambda url: source, {"grib": SCANNER})
