"""GRIB messages with one wrong number: the fault of each message, its place and its words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.places import FIXTURES
from tests.scanning import refusals, refuses, run, scan_bytes

from byteatlas.errors import ByteatlasError, CorruptFile, Unsupported
from byteatlas.scanning.grib import GribField
from byteatlas_scanners.grib import SCANNER
from byteatlas_scanners.grib.cubes import datum
from byteatlas_scanners.grib.messages import chain
from byteatlas_scanners.grib.messages.chain import Damaged, FoundMessage, MessageChain
from byteatlas_scanners.grib.messages.find import find_messages
from byteatlas_scanners.grib.messages.read import read_fields

GFS = (FIXTURES / "grib" / "gfs.grib2").read_bytes()
ERA = (FIXTURES / "grib" / "era.grib1").read_bytes()


def chained(data: bytes) -> MessageChain:
    return run(find_messages(len(data), far=False), data)


def first_of(data: bytes) -> bytes:
    return data[: chained(data).messages[0].length]


ONE, OLD = first_of(GFS), first_of(ERA)


def poked(data: bytes, at: int, value: int, width: int) -> bytes:
    return data[:at] + value.to_bytes(width, "big") + data[at + width :]


def section(data: bytes, number: int) -> int:
    """Where a section of a message of edition 2 begins."""
    at = 16
    while data[at + 4] != number:
        at += int.from_bytes(data[at : at + 4], "big")
    return at


def fault(data: bytes) -> Callable[[], object]:
    """The first damaged message of a chain."""

    def act() -> object:
        found = chained(data)
        if found.damaged:
            raise found.damaged[0].error
        return found

    return act


LARGE = b"GRIB" + (0x800000 | 1).to_bytes(3, "big") + b"\1" + (28).to_bytes(3, "big") + bytes(4)
"""The head of a large message of edition 1, up to the flags of its second section."""


@refusals(
    (
        fault(GFS + ONE[:-1]),
        CorruptFile(len(GFS), f"a message of {len(ONE)} bytes is cut off: the file has {len(ONE) - 1} of them"),
    ),
    (
        fault(ONE[:-1] + b"8" + ONE),
        CorruptFile(0, f"a message of {len(ONE)} bytes does not end with 7777: its length is wrong, or its data"),
    ),
    (fault(GFS + b"GRIB" + bytes(5)), CorruptFile(len(GFS), "the file ends in the head of a message")),
    (fault(LARGE + b"\x80" + bytes(9)), CorruptFile(36, "a section begins beyond the end of the file")),
    (fault(LARGE + b"\x00" + bytes(20)), CorruptFile(36, "a section begins beyond the end of the file")),
    (
        fault(LARGE + b"\x00" + bytes(20) + (119).to_bytes(3, "big") + bytes(20)),
        CorruptFile(0, "a message of 5 bytes"),
    ),
)
def test_chains(act: Callable[[], object], error: ByteatlasError) -> None:
    refuses(error, act)


def test_chains_that_are_sound() -> None:
    assert [m.length for m in chained(ONE + OLD).messages] == [len(ONE), len(OLD)]
    assert not chained(GFS).damaged


def test_the_number_of_damaged_messages_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = ONE[:-1] + b"8"
    monkeypatch.setattr(chain, "MOST_DAMAGED", 3)
    found = chained(bad * 2 + ONE)
    assert (len(found.damaged), len(found.messages)) == (2, 1)
    found = chained(bad * 3 + ONE)
    assert (len(found.damaged), len(found.messages)) == (3, 0)
    why = "more than 3 damaged messages; nothing behind this one was looked at"
    last = found.damaged[-1]
    assert isinstance(last, Damaged)
    assert str(last.error) == str(Unsupported("too-large", why))


def fields(data: bytes, offset: int = 0) -> Callable[[], list[GribField]]:
    """The fields of one message, which is taken as whole."""

    def act() -> list[GribField]:
        edition = data[7]
        message = FoundMessage(offset, len(data), edition, data[6] if edition == 2 else 0, data[:1024])
        (found,) = run(read_fields([message]), bytes(offset) + data)
        if isinstance(found, Exception):
            raise found
        return [placed.field for placed in found]

    return act


def test_sections_that_do_not_fit() -> None:
    at = section(ONE, 3)
    for length in (len(ONE) - at + 1, 1 << 31):
        with pytest.raises(CorruptFile) as caught:
            fields(poked(ONE, at, length, 4), 100)()
        assert caught.value.offset >= 100
        assert "section" in caught.value.why
    assert len(fields(ONE, 100)()) == 1


def reasons(data: bytes) -> list[tuple[str | None, str]]:
    return [(i.reason, i.detail) for i in scan_bytes(SCANNER, data).report if i.status == "refused"]


def test_fields_of_too_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    at = section(ONE, 3)
    points = int.from_bytes(ONE[at + 6 : at + 10], "big")
    assert reasons(ONE) == []
    monkeypatch.setattr(datum, "MOST_POINTS", points)
    assert reasons(ONE) == []
    monkeypatch.setattr(datum, "MOST_POINTS", points - 1)
    assert reasons(ONE) == [("too-large", f"a field of {points} points; at most {points - 1}")]


def test_fields_without_points() -> None:
    at = section(ONE, 3)
    none = poked(poked(poked(ONE, at + 6, 0, 4), at + 30, 0, 4), at + 34, 0, 4)
    assert reasons(none) == [("dataspace", "a field without points, or with an unknown number of them")]
